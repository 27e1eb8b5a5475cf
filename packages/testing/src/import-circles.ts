import { dirname, join } from "node:path";
import type { SourceFile } from "./house-rules.js";

/** Relative imports and re-exports of a module. Biome's rule leaves out imports of types; this one has them. */
const importPattern = /\b(?:import|export)\b[^'"`;]*?\bfrom\s*"(\.[^"]+)"|\bimport\s*\(?\s*"(\.[^"]+)"/g;

/** Circles of imports, each once, as paths joined by arrows. */
export function findImportCircles(files: readonly SourceFile[]): string[] {
  const sources = files.filter(({ path }) => /\.tsx?$/.test(path) && !path.endsWith(".test.ts"));
  const known = new Set(sources.map(({ path }) => path));
  const graph = new Map(sources.map(({ path, text }) => [path, importsOf(path, text, known)]));
  const circles = new Map<string, string>();
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const circle = trail.slice(start);
      circles.set([...circle].sort().join(), [...circle, path].join(" -> "));
      return;
    }
    if (done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return [...circles.values()];
}

function importsOf(path: string, text: string, known: ReadonlySet<string>): string[] {
  return [...text.matchAll(importPattern)].flatMap(([, from, plain]) => {
    const target = join(dirname(path), (from ?? plain ?? "").replace(/\.js$/, ".ts"));
    return [target, `${target}x`].filter((each) => known.has(each));
  });
}
