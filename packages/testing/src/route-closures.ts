import { dirname, join } from "node:path";
import type { Manifest } from "./house.js";
import type { SourceFile } from "./house-rules.js";

/** An import or re-export of values: its names, if it lists some, and its module. */
const importPattern =
  /\b(?:import|export)\b(?! type)(?:[^'"`;{]*\{([^}]*)\})?[^'"`;{]*?\bfrom\s*"([^"]+)"|\bimport\s*\(?\s*"([^"]+)"/g;

/** A file of routes, their number, and how many other files of the repository its imports reach. */
export interface RouteClosure {
  path: string;
  routes: number;
  reached: number;
}

const routePattern = /\bpath: ["`]|\b(?:viewer|owner)Route\(/g;

/**
 * The closures of all files of routes, the smallest first. Types do not count. Nor does an `index.ts`: a name leads on to the file that
 * has it.
 */
export function measureRouteClosures(
  files: readonly SourceFile[],
  manifests: readonly Manifest[],
): readonly RouteClosure[] {
  const texts = new Map(files.filter(({ path }) => /\.tsx?$/.test(path)).map(({ path, text }) => [path, text]));
  const entries = entriesOf(manifests);
  const find = (from: string, module: string) => {
    const target = module.startsWith(".") ? join(dirname(from), module).replace(/\.js$/, ".ts") : entries.get(module);
    return [target, `${target}x`].find((path) => path !== undefined && texts.has(path));
  };
  const behind = (file: string, names: readonly string[]): string[] => {
    if (!file.endsWith("/index.ts")) return [file];
    return importsOf(texts.get(file)).flatMap((each) => {
      const taken = each.names.filter((name) => names.includes(name));
      const target = taken.length > 0 ? find(file, each.module) : undefined;
      return target ? behind(target, taken) : [];
    });
  };
  const reach = (path: string, seen: Set<string>): Set<string> => {
    if (seen.has(path)) return seen;
    seen.add(path);
    for (const { names, module } of importsOf(texts.get(path))) {
      const file = find(path, module);
      for (const next of file ? behind(file, names) : []) reach(next, seen);
    }
    return seen;
  };
  return [...texts.keys()]
    .filter((path) => /^apps\/.*\.route\.ts$/.test(path))
    .map((path) => ({
      path,
      routes: Math.max(1, texts.get(path)?.match(routePattern)?.length ?? 0),
      reached: reach(path, new Set()).size - 1,
    }))
    .sort((a, b) => a.reached - b.reached);
}

function importsOf(text = ""): { names: string[]; module: string }[] {
  return [...text.matchAll(importPattern)].map(([, list = "", from, alone]) => ({
    // Of `a as b, type c` the name `a`.
    names: list.split(",").flatMap((name) => /^(?!type )\w+/.exec(name.trim()) ?? []),
    module: from ?? alone ?? "",
  }));
}

/** The source of each entry of the workspaces, such as `@waymark/service/http`. */
function entriesOf(manifests: readonly Manifest[]): Map<string, string> {
  return new Map(
    manifests.flatMap(({ path, name, exports = {} }) =>
      Object.entries(exports).flatMap(([entry, { source }]): [string, string][] =>
        source ? [[join(name, entry), join(path, source)]] : [],
      ),
    ),
  );
}
