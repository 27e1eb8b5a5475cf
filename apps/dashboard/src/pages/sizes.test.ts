import { describe, expect, it } from "@jest/globals";
import { built } from "@waymark/testing";
import { readPages } from "./pages.js";
import { measureSizes } from "./sizes.fixture.js";

/** The budgets of the first load and of all parts, after gzip. */
const kb = 1000;
const pages = readPages(built(new URL("../../dist/web/", import.meta.url)));
const { first, firstFiles, parts, scripts, styles } = measureSizes(pages);

describe("the built app's sizes, gzip", () => {
  it("loads at most 60 KB of script first", () => {
    expect(first).toBeGreaterThan(5 * kb);
    expect(first).toBeLessThanOrEqual(60 * kb);
  });

  it("loads one script first, which sets the theme before the first paint", () => {
    expect(firstFiles).toHaveLength(1);
    expect(String(pages.files.get("index.html")?.bodies.identity)).toContain(
      `blocking="render" crossorigin src="/dashboard/${firstFiles[0]}"`,
    );
  });

  it("loads at most 25 KB for any page thereafter", () => {
    expect(parts.length).toBeGreaterThan(5);
    expect(parts.filter(({ size }) => !(size <= 25 * kb))).toEqual([]);
  });

  it("has at most 140 KB of script in all", () => {
    expect(scripts).toBeLessThanOrEqual(140 * kb);
  });

  it("has at most 12 KB of styles", () => {
    expect([...pages.files.keys()].filter((name) => name.endsWith(".css"))).toHaveLength(1);
    expect(styles).toBeLessThanOrEqual(12 * kb);
  });

  it("has no script or style inside the page, which the content policy would refuse", () => {
    const html = String(pages.files.get("index.html")?.bodies.identity);
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  });
});
