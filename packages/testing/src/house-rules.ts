import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface SourceFile {
  path: string;
  text: string;
}

export function readRepository(root: string): SourceFile[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  return list
    .split("\n")
    .filter((path) => /\.(tsx?|css|mjs|md|sql|sh)$/.test(path))
    .filter((path) => existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** Literals spread into another, which only pack several members on a line, as `file: literal`. */
export function findPackedLiterals(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /\.(tsx?|mjs)$/.test(path))
    .flatMap(({ path, text }) => [...text.matchAll(/\.\.\.\{ [^\n]*/g)].map(([literal]) => `${path}: ${literal}`));
}

const maxFunctionLines = 70;
const functionPattern = /(?:=>|\)(?:: .+)?) \{$/;
const otherBlockPattern = /^\s*(?:\}\s*)?(?:if|for|while|switch|else|catch)\b/;
/** On the line itself, or two before it where the call takes several lines. */
const suitePatterns = [/^\s*describe/, /^\s*describe\w*\($/] as const;

/**
 * Functions of more than 70 lines in tests and fixtures, as `file:line: lines`, by the indentation of formatted code. Suites only
 * group tests. Biome measures all other sources.
 */
export function findLongFunctions(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /\.(test|fixture)\.tsx?$/.test(path))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n");
      return lines.flatMap((line, first) => {
        const isSuite = suitePatterns[0].test(line) || suitePatterns[1].test(lines[first - 2] ?? "");
        if (!functionPattern.test(line) || otherBlockPattern.test(line) || isSuite) return [];
        const end = `${/^\s*/.exec(line)?.[0]}}`;
        const length = lines.slice(first).findIndex((each, n) => n > 0 && each.startsWith(end)) + 1;
        return length > maxFunctionLines ? [`${path}:${first + 1}: ${length} lines`] : [];
      });
    });
}

/** Files with an error answer of their own: `packages/errors` writes the one shape. */
export function findSecondErrorShapes(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /^(apps|packages)\/.*\.ts$/.test(path) && !path.endsWith(".test.ts"))
    .filter(({ path }) => !/^packages\/(errors|service|testing)\//.test(path))
    .filter(({ text }) => /\.json\(\s*\{\s*"?(error|message|errors)"?\s*:/.test(text))
    .map(({ path }) => path);
}

const lockPattern = /\bFOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)\b|\b(keepTraceSql|lockedUsageSql)\(/;
const prunedPattern = /\b(FROM|JOIN) span\b[^;]*?\b(s|span)\.trace_id = (?!\$)/;

/** Statements that lock rows and choose partitions of `span` by a value of another table; `isSpanSql` says why not. */
export function findPruningBesideLocks(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => path.endsWith(".query.ts"))
    .flatMap(({ path, text }) => text.split("\n\n").map((part) => ({ path, part })))
    .filter(({ part }) => lockPattern.test(part) && prunedPattern.test(part))
    .map(({ path, part }) => `${path}: ${/\w+Sql\b/.exec(part)?.[0]}`);
}

/** Missing paths of the repository in documents, as `file: path`. */
export function findDeadPaths(files: readonly SourceFile[], exists: (path: string) => boolean): string[] {
  return files
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) =>
      namedPaths(path, text)
        .filter((named) => !exists(named))
        .map((named) => `${path}: ${named}`),
    );
}

/** Code spans that start with one of our folders, and relative links. Patterns and things made at run time are left out. */
function namedPaths(file: string, text: string): string[] {
  const spans = [...text.matchAll(/`((?:apps|packages|prisma|docker|\.ci)\/[^`\s]*)`/g)].map((match) => match[1] ?? "");
  const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)/g)].map((match) =>
    join(dirname(file), match[1] ?? ""),
  );
  return [...spans, ...links].filter((named) => !/[*<>{}…$]|\/(dist|node_modules|generated)(\/|$)/.test(named));
}

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
