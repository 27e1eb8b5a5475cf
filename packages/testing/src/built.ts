import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

let isBuilt = false;

/** Builds what changed, once in a process, before a test starts a built program; a run of several files did it before. */
export function built(file: URL): URL {
  if (isBuilt || process.env["WAYMARK_TEST_BUILT"]) return file;
  const turbo = fileURLToPath(new URL("../../../node_modules/.bin/turbo", import.meta.url));
  const cwd = fileURLToPath(new URL("../../../", import.meta.url));
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const { status } = spawnSync(turbo, ["run", "build", "--output-logs=errors-only"], { cwd, env, stdio: "inherit" });
  if (status !== 0) throw new Error("The build failed; it wrote why above.");
  isBuilt = true;
  return file;
}
