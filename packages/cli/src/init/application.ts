import { existsSync } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { basename, extname, join, relative, resolve } from "node:path";
import { CommandError } from "../context/command-error.js";
import { parseObject } from "../context/json.js";
import { anyLibrary, type Library, libraries, type Runtime } from "./libraries.js";

export interface Application {
  folder: string;
  name: string;
  runtime: Runtime;
  libraries: readonly Library[];
  /** How its package manager adds a package. */
  install: string;
}

/** A manifest is shorter; more is no manifest of a person. */
const maxManifestBytes = 1_048_576;

/** @throws CommandError in a folder without a manifest of Node or Python */
export async function readApplication(folder: string): Promise<Application> {
  const path = resolve(folder);
  const node = parseObject<Manifest>((await readText(join(path, "package.json"), maxManifestBytes)) ?? "");
  const python = await readPython(path);
  if (!node && python === undefined) {
    throw new CommandError(`${path} has no package.json, requirements.txt or pyproject.toml. Give the folder of one.`);
  }
  const has = { node: node ? npmNames(node) : new Set<string>(), python: python ?? new Set<string>() };
  const found = { node: of("node"), python: of("python") };
  // A folder may have both: the one with a library decides, and JavaScript where both have.
  const runtime = node && (found.node.length > 0 || found.python.length === 0) ? "node" : "python";
  const known = found[runtime];
  return {
    folder: path,
    name: (typeof node?.name === "string" && node.name.replace(/^@[^/]*\//, "")) || basename(path) || "agent",
    runtime,
    libraries: known.length > 0 ? known : [anyLibrary[runtime]],
    install: installOf(path, runtime),
  };

  function of(runtime: Runtime): Library[] {
    return libraries[runtime].filter(({ packages }) => packages.some((name) => has[runtime].has(name)));
  }
}

type Dependencies = Readonly<Record<string, unknown>>;
interface Manifest {
  name: unknown;
  dependencies: Dependencies;
  devDependencies: Dependencies;
}

function npmNames({ dependencies, devDependencies }: Partial<Manifest>): Set<string> {
  return new Set(Object.keys({ ...dependencies, ...devDependencies }));
}

/** The names in quotes, keys and lines of the manifests: a name that is no dependency is none of ours. */
async function readPython(folder: string): Promise<Set<string> | undefined> {
  const texts = await Promise.all(
    ["requirements.txt", "pyproject.toml"].map((name) => readText(join(folder, name), maxManifestBytes)),
  );
  const given = texts.filter((text) => text !== undefined);
  if (given.length === 0) return undefined;
  const names = given.join("\n").matchAll(/^\s*["']?([a-z0-9][\w.-]*)|["']([a-z0-9][\w.-]*)/gim);
  return new Set([...names].map(([, first, quoted = ""]) => (first ?? quoted).toLowerCase().replace(/[_.]+/g, "-")));
}

/** As the SDKs' READMEs have them: neither is in a registry, where others may take the names. */
const sdks = { node: "./waymark-client-0.1.0.tgz", python: "./packages/client-python" };

function installOf(folder: string, runtime: Runtime): string {
  const managers = {
    node: { "pnpm-lock.yaml": "pnpm add", "yarn.lock": "yarn add", "bun.lock": "bun add", "": "npm install" },
    python: { "uv.lock": "uv add", "poetry.lock": "poetry add", "": "pip install" },
  };
  const [, command = ""] =
    Object.entries(managers[runtime]).find(([file]) => file === "" || existsSync(join(folder, file))) ?? [];
  return `${command} ${sdks[runtime]}`;
}

const extensions = {
  node: new Set([".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs"]),
  python: new Set([".py"]),
};
const skipped = /^(\..*|node_modules|dist|build|out|venv|env|site-packages|__pycache__|coverage)$/;
const bounds = { entries: 5_000, depth: 6, fileBytes: 262_144, places: 5 };

/** Lines of the application's sources that a pattern finds, as `src/agent.ts:12`, at most five. */
export async function findPlaces({ folder, runtime }: Application, pattern: RegExp | undefined): Promise<string[]> {
  const places: string[] = [];
  if (!pattern) return places;
  const waiting = [{ path: folder, depth: 0 }];
  let seen = 0;
  for (const { path, depth } of waiting) {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (++seen > bounds.entries || places.length >= bounds.places) return places;
      const child = join(path, entry.name);
      if (entry.isDirectory() && depth < bounds.depth && !skipped.test(entry.name))
        waiting.push({ path: child, depth: depth + 1 });
      if (!entry.isFile() || !extensions[runtime].has(extname(entry.name))) continue;
      const lines = ((await readText(child, bounds.fileBytes)) ?? "").split("\n");
      const at = lines.findIndex((line) => pattern.test(line.slice(0, 1_000)));
      if (at !== -1) places.push(`${relative(folder, child)}:${at + 1}`);
    }
  }
  return places;
}

/** The text of a file, if it is there and not longer. */
async function readText(path: string, maxBytes: number): Promise<string | undefined> {
  try {
    const file = await open(path);
    const { size } = await file.stat().finally(() => file.close());
    return size > maxBytes ? undefined : await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
