import { createFinder } from "../text-finder.js";

/** A test for the paths of a page pattern: `*` stands for any text, the rest for itself. It looks at a path once, whatever the pattern. */
export interface PagePattern {
  matches(path: string): boolean;
  /** Whether a test looks through the whole path. */
  readonly isSearch: boolean;
}

export function compilePattern(pattern: string): PagePattern {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return { matches: (path) => path === pattern, isSearch: false };
  const finders = rest.filter((part) => part !== "").map((part) => createFinder([part]));
  const matches = (path: string) => {
    if (!path.startsWith(first)) return false;
    let at = first.length;
    for (const find of finders) {
      at = find(path, at);
      if (at < 0) return false;
    }
    return path.length - last.length >= at && path.endsWith(last);
  };
  return { matches, isSearch: finders.length > 0 };
}
