import type { Pages } from "./pages.js";

/** Bytes after gzip. */
export interface Sizes {
  /** The script of the first load, and its files. */
  first: number;
  firstFiles: readonly string[];
  /** What each later part adds. */
  parts: readonly { source: string; size: number }[];
  scripts: number;
  styles: number;
}

/** The sizes of the built browser half. */
export function measureSizes({ files, manifest }: Pages): Sizes {
  const sum = (names: readonly string[]) =>
    names.reduce((total, name) => total + (files.get(name)?.bodies.gzip.length ?? Number.NaN), 0);
  const ending = (end: string) => [...files.keys()].filter((name) => name.endsWith(end));
  /** The files that a source needs at once. */
  function closure(source: string, seen = new Set<string>()): string[] {
    const built = manifest[source];
    if (!built || seen.has(source)) return [];
    seen.add(source);
    return [built.file, ...(built.imports ?? []).flatMap((name) => closure(name, seen))];
  }
  const firstFiles = closure("index.html");
  const parts = Object.keys(manifest)
    .filter((source) => manifest[source]?.isDynamicEntry)
    .map((source) => ({ source, size: sum(closure(source).filter((file) => !firstFiles.includes(file))) }));
  return { first: sum(firstFiles), firstFiles, parts, scripts: sum(ending(".js")), styles: sum(ending(".css")) };
}
