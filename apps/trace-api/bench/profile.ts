import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServiceProcess } from "../src/service.fixture.js";
import { measure, type Stage } from "./measure.js";
import type { Operation } from "./scenario.js";

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  /** In microseconds of the clock of `process.hrtime`. */
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

const topFunctions = 25;

/** Shows the service's CPU time of each operation by package, then by function. */
export async function profile(
  stage: Stage,
  operations: readonly Operation[],
  start: (nodeFlags: string[]) => Promise<ServiceProcess>,
): Promise<void> {
  for (const operation of operations) {
    const folder = await mkdtemp(join(tmpdir(), "waymark-profile-"));
    const service = await start(["--cpu-prof", `--cpu-prof-dir=${folder}`]);
    const load = { operation, connections: 64, accounts: 10 };
    const startedAt = Number(process.hrtime.bigint() / 1000n);
    const { perSecond, nodeMicros } = await measure(stage, { name: "ours", process: service }, load);
    await service.end("SIGTERM");
    const [file = ""] = await readdir(folder);
    const read: CpuProfile = JSON.parse(await readFile(join(folder, file), "utf8"));
    await rm(folder, { recursive: true });
    const title = `${operation}: ${perSecond.toFixed(0)}/s, ${nodeMicros.toFixed(0)} us of Node each`;
    process.stdout.write(`\n${title}\n${formatShares(read, startedAt)}\n`);
  }
}

/** @param startedAt excludes the start of the service */
function formatShares(read: CpuProfile, startedAt: number): string {
  const packages = new Map<string, number>();
  const functions = new Map<string, number>();
  const frames = new Map(read.nodes.map(({ id, callFrame }) => [id, callFrame]));
  let total = 0;
  let now = read.startTime;
  read.samples.forEach((id, index) => {
    const frame = frames.get(id);
    const micros = read.timeDeltas[index] ?? 0;
    now += micros;
    if (!frame || frame.functionName === "(idle)" || now < startedAt) return;
    total += micros;
    const owner = packageOf(frame.url, frame.functionName);
    packages.set(owner, (packages.get(owner) ?? 0) + micros);
    const name = `${frame.functionName || "(anonymous)"} ${owner}${frame.url && `:${frame.lineNumber + 1}`}`;
    functions.set(name, (functions.get(name) ?? 0) + micros);
  });
  const lines = (shares: Map<string, number>, most: number) =>
    [...shares]
      .sort(([, a], [, b]) => b - a)
      .slice(0, most)
      .map(([name, micros]) => `${((micros / total) * 100).toFixed(1).padStart(6)} %  ${name}`);
  return [...lines(packages, 18), "", ...lines(functions, topFunctions)].join("\n");
}

function packageOf(url: string, functionName: string): string {
  if (url.startsWith("node:")) return url.replace(/^node:internal\/(\w+).*/, "node:internal/$1");
  const inStore = /node_modules\/\.pnpm\/.*?\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (inStore) return inStore;
  const own = /\/((?:apps|packages)\/[^/]+)\/dist\/(.*)$/.exec(url);
  if (own) return `${own[1]}/${own[2]}`;
  return functionName.startsWith("(") ? functionName : "(native)";
}
