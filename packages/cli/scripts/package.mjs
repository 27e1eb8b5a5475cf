// Makes the npm package of the command line: one file with all dependencies, and the data that it reads.
// Usage: node scripts/package.mjs FOLDER. The folder is replaced; `npm pack FOLDER` packs it.
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const own = join(root, "packages/cli");
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Give the folder to make.");
const target = resolve(folder);
// The layout is the repository's, so that the program finds migrations and lists where it finds them in a clone.
const entry = "packages/cli/dist/main.js";

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const { metafile } = await build({
  entryPoints: [join(own, "src/main.ts")],
  outfile: join(target, entry),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20.19",
  conditions: ["source"],
  // Optional parts of pg and BullMQ that are installed by nobody here.
  external: ["pg-native", "@valkey/valkey-glide"],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  // CommonJS dependencies call require.
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);',
  },
});
chmodSync(join(target, entry), 0o755);
cpSync(join(root, "packages/web-stats/assets"), join(target, "assets"), { recursive: true });
cpSync(join(root, "prisma/migrations"), join(target, "prisma/migrations"), { recursive: true });
cpSync(join(root, "LICENSE"), join(target, "LICENSE"));
cpSync(join(own, "README.md"), join(target, "README.md"));
writeFileSync(join(target, "THIRD-PARTY-LICENSES.txt"), collectLicenses(Object.keys(metafile.inputs)));

const { name, version, description, license, type, engines } = JSON.parse(
  readFileSync(join(own, "package.json"), "utf8"),
);
const manifest = { name, version, description, license, type, engines, bin: { waymark: entry } };
writeFileSync(join(target, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
// The program reads its version beside its folder, as in a clone.
writeFileSync(join(target, "packages/cli/package.json"), `${JSON.stringify({ type, version }, null, 2)}\n`);

/** The licences of the bundled packages, which ask for a copy of themselves. */
function collectLicenses(inputs) {
  const folders = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const texts = [...new Set(folders)].filter(Boolean).map((each) => {
    const path = resolve(each);
    const bundled = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const files = readdirSync(path).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const text = files.map((file) => readFileSync(join(path, file), "utf8").trim()).join("\n\n");
    return `${bundled.name} ${bundled.version} (${bundled.license})\n\n${text}\n`;
  });
  return texts.sort().join(`\n${"-".repeat(80)}\n\n`);
}
