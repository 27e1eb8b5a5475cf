/** V8 collects the old generation once it has grown by half; otherwise it may quadruple under load. */
const underLoad = ["--max-semi-space-size=16", "--heap-growing-percent=50"];

const memoryFlags: Readonly<Record<string, readonly string[]>> = {
  dashboard: ["--max-semi-space-size=8", "--max-old-space-size=128"],
};

/** Node's flags for an app, as in its image. Stacks name lines of the sources. */
export function deployedFlags(app: string): readonly string[] {
  return ["--enable-source-maps", ...(memoryFlags[app] ?? underLoad)];
}
