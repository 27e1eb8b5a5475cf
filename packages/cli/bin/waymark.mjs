#!/usr/bin/env node
// The command line. After a fresh clone it is not built yet: then it builds itself first, quietly.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = new URL("../dist/main.js", import.meta.url);
if (!existsSync(main)) build();
await import(main);

function build() {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const turbo = fileURLToPath(new URL("../../../node_modules/.bin/turbo", import.meta.url));
  console.error("Building the command line, once ...");
  const result = spawnSync(
    turbo,
    ["run", "build", "--filter=@waymark/cli", "--output-logs=errors-only", "--log-prefix=none"],
    // Standard output belongs to the command.
    {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
    },
  );
  if (result.status === 0) return;
  console.error(`${result.stdout ?? ""}${result.stderr ?? ""}`);
  console.error("The command line could not be built. Run 'npx --yes pnpm@10.34.9 build' to see why.");
  process.exit(1);
}
