// Makes the npm package `waymark`: the whole system and its command line, with all dependencies but Postgres and the countries.
// Usage: node scripts/package.mjs FOLDER, after a build. The folder is replaced; `npm pack FOLDER` packs it.
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Give the folder to make.");
const target = resolve(folder);
const apps = ["trace-api", "analytics-api", "collector", "dashboard", "worker"];

// The layout is the repository's, so each part finds the others and its data where it finds them in a clone.
const entries = [
  "packages/cli/src/main",
  "packages/local/src/main",
  "packages/web-stats/src/analytics/import/reader-thread",
  ...apps.flatMap((app) => ["config", "run", "main"].map((file) => `apps/${app}/src/${file}`)),
];
const data = [
  "prisma/migrations",
  "packages/local/assets",
  "packages/traces/assets",
  "packages/web-stats/assets",
  "apps/collector/assets",
  "apps/dashboard/dist/web",
];

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const { metafile } = await build({
  entryPoints: Object.fromEntries(entries.map((file) => [file.replace("/src/", "/dist/"), join(root, `${file}.ts`)])),
  outdir: target,
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node20.19",
  conditions: ["source"],
  // Optional parts of pg and BullMQ that nobody installs here.
  external: ["pg-native", "@valkey/valkey-glide"],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  plugins: [{ name: "places", setup: keepPlaces }],
  // CommonJS dependencies call require.
  banner: {
    js: 'import { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);',
  },
});
for (const path of data) cpSync(join(root, path), join(target, path), { recursive: true });
const { parse } = createRequire(join(root, "packages/web-stats/package.json"))("yaml");
const lists = join(target, "packages/web-stats/assets/referrers");
for (const file of readdirSync(lists).filter((name) => name.endsWith(".yml")))
  writeFileSync(join(lists, file), JSON.stringify(parse(readFileSync(join(lists, file), "utf8"))));
for (const file of ["LICENSE", "packages/cli/bin/installed.mjs"]) cpSync(join(root, file), join(target, file));
cpSync(join(root, "packages/cli/README.md"), join(target, "README.md"));
chmodSync(join(target, "packages/cli/bin/installed.mjs"), 0o755);
writeFileSync(join(target, "THIRD-PARTY-LICENSES.txt"), collectLicenses(Object.keys(metafile.inputs)));

const manifestOf = (name) => JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
const { version, license, type, engines } = manifestOf("cli");
const countries = "@ip-location-db/geo-whois-asn-country-mmdb";
const manifest = {
  name: "waymark",
  version,
  description: "Records the traces of your AI agents and counts your sites' visits, on your machine",
  license,
  type,
  engines,
  bin: { waymark: "packages/cli/bin/installed.mjs" },
  // Without them the command line works, as does the system on a Postgres of your own with COUNTRY_DATABASE.
  optionalDependencies: {
    ...manifestOf("local").optionalDependencies,
    [countries]: manifestOf("web-stats").dependencies[countries],
  },
};
writeFileSync(join(target, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
// Programs read their version beside their folder, as in a clone.
for (const name of ["cli", "service"]) {
  mkdirSync(join(target, "packages", name), { recursive: true });
  writeFileSync(join(target, "packages", name, "package.json"), `${JSON.stringify({ type, version }, null, 2)}\n`);
}

/** Gives each of our files the place that it has in the repository, in whichever chunk it ends. */
function keepPlaces({ onLoad, onResolve }) {
  onResolve({ filter: /^waymark:place$/ }, () => ({ path: "place", namespace: "waymark" }));
  onLoad({ filter: /.*/, namespace: "waymark" }, () => ({
    contents: 'export const placeInPackage = (path) => new URL("../" + path, import.meta.url).href;',
  }));
  onLoad({ filter: /[\\/](packages|apps)[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
    const text = readFileSync(path, "utf8");
    if (!text.includes("import.meta.url")) return undefined;
    const place = relative(root, path).replaceAll("\\", "/").replace("/src/", "/dist/").replace(/\.ts$/, ".js");
    const contents = text
      .replaceAll('createRequire(import.meta.url)("ioredis")', 'require("ioredis")')
      .replaceAll("import.meta.url", `placeInPackage("${place}")`);
    return { contents: `import { placeInPackage } from "waymark:place";\n${contents}`, loader: "ts" };
  });
}

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
