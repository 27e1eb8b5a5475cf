import { describe, expect, it } from "@jest/globals";
import { readPages } from "./pages.js";

/** The budgets of the first load and of all parts, after gzip. */
const kb = 1000;
const { files, manifest } = readPages(new URL("../../dist/web/", import.meta.url));

const gzipped = (file: string) => files.get(file)?.bodies.gzip.length ?? Number.NaN;
const sum = (names: readonly string[]) => names.reduce((total, name) => total + gzipped(name), 0);

/** The files that a source needs at once. */
function closure(source: string, seen = new Set<string>()): string[] {
  if (seen.has(source)) return [];
  seen.add(source);
  const built = manifest[source];
  return built ? [built.file, ...(built.imports ?? []).flatMap((name) => closure(name, seen))] : [];
}

describe("the built app's sizes, gzip", () => {
  const first = closure("index.html");
  const scripts = [...files.keys()].filter((name) => name.endsWith(".js"));

  it("loads at most 60 KB of script first", () => {
    expect(sum(first)).toBeGreaterThan(5 * kb);
    expect(sum(first)).toBeLessThanOrEqual(60 * kb);
  });

  it("loads one script first, which sets the theme before the first paint", () => {
    expect(first).toHaveLength(1);
    expect(String(files.get("index.html")?.bodies.identity)).toContain(
      `blocking="render" crossorigin src="/dashboard/${first[0]}"`,
    );
  });

  it("loads at most 25 KB for any page thereafter", () => {
    const parts = Object.keys(manifest).filter((source) => manifest[source]?.isDynamicEntry);
    const sizes = parts.map((source) => ({
      source,
      size: sum(closure(source).filter((file) => !first.includes(file))),
    }));
    expect(sizes.length).toBeGreaterThan(5);
    expect(sizes.filter(({ size }) => !(size <= 25 * kb))).toEqual([]);
  });

  it("has at most 120 KB of script in all", () => {
    expect(sum(scripts)).toBeLessThanOrEqual(120 * kb);
  });

  it("has at most 12 KB of styles", () => {
    const styles = [...files.keys()].filter((name) => name.endsWith(".css"));
    expect(styles).toHaveLength(1);
    expect(sum(styles)).toBeLessThanOrEqual(12 * kb);
  });

  it("has no script or style inside the page, which the content policy would refuse", () => {
    const html = String(files.get("index.html")?.bodies.identity);
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  });
});
