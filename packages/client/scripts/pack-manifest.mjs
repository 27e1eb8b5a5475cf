// npm packs package.json as it is, with versions such as `workspace:*` that only pnpm knows. Before packing, `clean` removes
// everything that serves this repository alone: scripts, devDependencies and the export of the sources. `restore` runs after.
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const manifest = new URL("../package.json", import.meta.url);
const original = new URL("../package.json.original", import.meta.url);

if (process.argv[2] === "restore") {
  renameSync(original, manifest);
} else {
  for (const file of ["dist/index.js", "dist/cjs/index.js"]) {
    if (!existsSync(new URL(`../${file}`, import.meta.url)))
      throw new Error(`${file} is missing: run \`pnpm build\` first`);
  }
  copyFileSync(manifest, original);
  const { scripts, devDependencies, ...published } = JSON.parse(readFileSync(manifest, "utf8"));
  for (const entry of Object.values(published.exports)) delete entry.source;
  writeFileSync(manifest, `${JSON.stringify(published, null, 2)}\n`);
}
