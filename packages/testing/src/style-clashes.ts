import { dirname } from "node:path";
import type { SourceFile } from "./house-rules.js";

/** Classes of the parts that every page is made of. */
const sharedPattern = /\/web\/(styles|ui|shell)\//;

/**
 * All pages have one sheet of styles. So each selector of a page's file needs a class of its own, and a class belongs to
 * one folder; `is-` marks a state and counts for nothing.
 */
export function findStyleClashes(files: readonly SourceFile[]): string[] {
  const sheets = files.filter(({ path }) => path.endsWith(".css"));
  const shared = new Set(sheets.filter(({ path }) => sharedPattern.test(path)).flatMap(({ text }) => classesOf(text)));
  const owners = new Map<string, string>();
  const clashesOf = (path: string, selector: string): string[] => {
    const own = classesOf(`${selector}{`).filter((name) => !shared.has(name) && !name.startsWith("is-"));
    if (own.length === 0) return [`${path}: ${selector} styles every page`];
    const folder = dirname(path);
    for (const name of own) owners.set(name, owners.get(name) ?? folder);
    const taken = own.filter((name) => owners.get(name) !== folder);
    return taken.map((name) => `${path}: .${name} belongs to ${owners.get(name)}`);
  };
  const found = sheets
    .filter(({ path }) => !sharedPattern.test(path))
    .flatMap(({ path, text }) => selectorsOf(text).flatMap((selector) => clashesOf(path, selector)));
  return [...new Set(found)];
}

function selectorsOf(text: string): string[] {
  return [...text.replace(/\/\*.*?\*\//gs, "").matchAll(/([^{};]+)\{/g)]
    .map((match) => (match[1] ?? "").trim())
    .filter((head) => !head.startsWith("@"))
    .flatMap((head) => head.split(/,(?![^(]*\))/))
    .map((selector) => selector.trim())
    .filter((selector) => !/^(from|to|[\d.]+%)$/.test(selector));
}

function classesOf(text: string): string[] {
  return selectorsOf(text).flatMap((selector) =>
    [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map((match) => match[1] ?? ""),
  );
}
