// Packs all that a release publishes into a folder, installs each in an empty folder and runs it, and publishes the packages.
// Usage, after a build: node scripts/release.mjs [--dry-run] [--out FOLDER] [--tag v1.2.3] [--repository OWNER/NAME]
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { values: options } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    out: { type: "string", default: join(root, "dist/release") },
    tag: { type: "string" },
    repository: { type: "string" },
  },
});
const out = resolve(options.out);
const work = mkdtempSync(join(tmpdir(), "waymark-release-"));
const run = (command, args, cwd = root) => execFileSync(command, args, { cwd, encoding: "utf8" }).trim();
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** The one version of all packages, which a tag names. */
function readVersion() {
  const python = /^version = "([^"]+)"/m.exec(
    readFileSync(join(root, "packages/client-python/pyproject.toml"), "utf8"),
  );
  const manifests = ["cli", "client", "service"].map(
    (name) => readJson(join(root, "packages", name, "package.json")).version,
  );
  const versions = new Set([python?.[1], ...manifests, ...(options.tag ? [options.tag.replace(/^v/, "")] : [])]);
  const [version, other] = versions;
  if (other !== undefined)
    throw new Error(`The packages and the tag have several versions: ${[...versions].join(", ")}`);
  return version;
}

/** npm proves where a package was built (provenance) if it names its repository. */
function pack(folder) {
  const manifest = readJson(join(folder, "package.json"));
  const repository = { type: "git", url: `git+https://github.com/${options.repository}.git` };
  if (options.repository) writeJson(join(folder, "package.json"), { ...manifest, repository });
  const [packed] = JSON.parse(run("npm", ["pack", folder, "--json", "--silent", "--pack-destination", out], work));
  return join(out, packed.filename);
}

function packSystem() {
  const folder = join(work, "system");
  run(process.execPath, [join(root, "packages/cli/scripts/package.mjs"), folder]);
  return {
    tarball: pack(folder),
    licences: join(folder, "THIRD-PARTY-LICENSES.txt"),
    manifest: readJson(join(folder, "package.json")),
  };
}

function packClient() {
  const folder = join(work, "client");
  for (const name of ["package.json", "README.md", "LICENSE", "src", "dist", "scripts"])
    cpSync(join(root, "packages/client", name), join(folder, name), { recursive: true });
  return pack(folder);
}

function packPython() {
  const folder = join(work, "python");
  for (const name of ["pyproject.toml", "README.md", "LICENSE", "backend", "waymark"])
    cpSync(join(root, "packages/client-python", name), join(folder, name), { recursive: true });
  const build = `import sys; sys.dont_write_bytecode = True; sys.path.insert(0, "backend"); import wheel_of_waymark as w
print(w.build_wheel(${JSON.stringify(out)})); print(w.build_sdist(${JSON.stringify(out)}))`;
  return run("python3", ["-c", build], folder)
    .split("\n")
    .map((name) => join(out, name));
}

/** The section of the version; of a dry run without one, what is not released yet. */
function writeNotes(version) {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const sections = new Map(
    changelog
      .split(/^## /m)
      .slice(1)
      .map((text) => [text.split("\n", 1)[0].split(" ")[0], text]),
  );
  const section = sections.get(version) ?? (options["dry-run"] ? sections.get("Unreleased") : undefined);
  if (!section) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  writeFileSync(join(out, "NOTES.md"), `## ${section.trim()}\n`);
}

/** A CycloneDX document of the package \`waymark\`: what it bundles, and what npm installs beside it. The clients need nothing. */
function writeComponents({ licences, manifest }, version) {
  const bundled = [
    ...readFileSync(licences, "utf8").matchAll(/^((?:@[\w.-]+\/)?[\w.-]+) (\d+\.\d[\w.+-]*) \((.+)\)$/gm),
  ];
  const installed = Object.entries(manifest.optionalDependencies).map(([name, wanted]) => ["", name, wanted]);
  const components = [...bundled, ...installed].map(([, name, known, license]) => ({
    type: "library",
    name,
    version: known,
    purl: `pkg:npm/${name.replace("@", "%40")}@${known}`,
    ...(license && { licenses: [{ expression: license }] }),
  }));
  if (bundled.length < 20) throw new Error(`The list of licences has ${bundled.length} packages only`);
  const component = { type: "application", name: "waymark", version, purl: `pkg:npm/waymark@${version}` };
  const head = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
  };
  writeJson(join(out, "sbom.cdx.json"), { ...head, version: 1, metadata: { component }, components });
}

function writeChecksums() {
  const names = readdirSync(out)
    .filter((name) => name !== "SHA256SUMS")
    .sort();
  const lines = names.map(
    (name) =>
      `${createHash("sha256")
        .update(readFileSync(join(out, name)))
        .digest("hex")}  ${name}\n`,
  );
  writeFileSync(join(out, "SHA256SUMS"), lines.join(""));
}

function emptyFolder(name) {
  mkdirSync(join(work, name));
  writeFileSync(join(work, name, "package.json"), '{ "private": true, "type": "module" }\n');
  return join(work, name);
}

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

/** Starts the installed system, waits until it is ready, and stops it. */
async function trySystem(tarball, version) {
  const folder = emptyFolder("try-system");
  run("npm", ["install", "--no-audit", "--no-fund", tarball], folder);
  const command = join(folder, "node_modules/.bin/waymark");
  if (run(command, ["--version"], folder) !== version) throw new Error("waymark --version says something else");
  const names = ["TRACE_API", "ANALYTICS_API", "COLLECTOR", "DASHBOARD"];
  const ports = await Promise.all(names.map(freePort));
  const settings = names.map((name, n) => `${name}_PORT=${ports[n]}`);
  const system = spawn("env", [...settings, command, "--no-demo", "--data", join(folder, "data")], {
    stdio: "inherit",
  });
  const ended = new Promise((done) => system.once("exit", done));
  try {
    const isReady = () =>
      fetch(`http://127.0.0.1:${ports[0]}/ready`).then(
        (answer) => answer.ok,
        () => false,
      );
    for (let tries = 0; !(await isReady()); tries++) {
      if (tries === 600 || system.exitCode !== null) throw new Error("the installed system did not become ready");
      await setTimeout(200);
    }
  } finally {
    system.kill("SIGTERM");
    await ended;
  }
}

function tryClient(tarball) {
  const folder = emptyFolder("try-client");
  run("npm", ["install", "--no-audit", "--no-fund", tarball], folder);
  const use = `const { createWaymark } = await import("@waymark/client");
const w = createWaymark({ key: "wmk_trace_x", fetch: async () => Response.json({ trace_id: "t", span_ids: ["s"] }) });
const got = await w.trace({ agent_id: "a", name: "n" }, () => 7);
if (got !== 7 || !(await w.flush())) process.exit(1);`;
  run(process.execPath, ["--input-type=module", "--eval", use], folder);
}

/** With pip, as people install it; a Debian python3 without pip unpacks the wheel alone. */
function tryPython([wheel, sdist]) {
  const use =
    "import waymark; assert waymark.__version__ and waymark.Waymark('wmk_trace_x', 'http://127.0.0.1:1').stats().queued == 0";
  const hasPip = spawnSync("python3", ["-m", "pip", "--version"]).status === 0;
  for (const [n, file] of [wheel, sdist].entries()) {
    if (!hasPip && file === sdist) continue;
    const folder = emptyFolder(`try-python-${n}`);
    const install = hasPip
      ? ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", folder, file]
      : ["-m", "zipfile", "-e", file, folder];
    run("python3", install, folder);
    run("python3", ["-c", use], folder);
  }
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
try {
  const version = readVersion();
  const system = packSystem();
  const client = packClient();
  const python = packPython();
  writeNotes(version);
  writeComponents(system, version);
  writeChecksums();
  await trySystem(system.tarball, version);
  tryClient(client);
  tryPython(python);
  process.stdout.write(`${readFileSync(join(out, "SHA256SUMS"), "utf8")}in ${out}\n`);
  // The wheel, the images and the release's page are further steps of .github/workflows/release.yml.
  if (!options["dry-run"])
    for (const tarball of [client, system.tarball])
      execFileSync("npm", ["publish", tarball, "--provenance", "--access", "public"], { stdio: "inherit" });
} finally {
  rmSync(work, { recursive: true, force: true });
}
