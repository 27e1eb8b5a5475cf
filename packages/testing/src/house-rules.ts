import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A source file may have this many lines; a longer one has two jobs. */
const maxLines = 400;

/** A file of the repository, with its path from the root. */
export interface SourceFile {
  path: string;
  text: string;
}

/** The files below a folder, without those git ignores, and those that the test of Biome's rules breaks meanwhile. */
export function readRepository(root: string): SourceFile[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  return list
    .split("\n")
    .filter((path) => /\.(tsx?|css|mjs|md|sql|sh)$/.test(path) && !path.includes("/broken-"))
    .filter((path) => existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** Source files of more than 400 lines. */
export function findLongFiles(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /\.tsx?$/.test(path) && !path.endsWith(".test.ts"))
    .filter(({ text }) => text.split("\n").length - 1 > maxLines)
    .map(({ path }) => path);
}

/** Literals spread into another, which only pack several members on a line, as `file: literal`. */
export function findPackedLiterals(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /\.(tsx?|mjs)$/.test(path))
    .flatMap(({ path, text }) => [...text.matchAll(/\.\.\.\{ [^\n]*/g)].map(([literal]) => `${path}: ${literal}`));
}

/** Files with an error answer of their own: `packages/errors` writes the one shape. Baselines of benchmarks may. */
export function findSecondErrorShapes(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /^(apps|packages)\/.*\.ts$/.test(path) && !path.endsWith(".test.ts"))
    .filter(({ path }) => !/^packages\/(errors|service|testing)\/|\/bench\//.test(path))
    .filter(({ text }) => /\.json\(\s*\{\s*"?(error|message|errors)"?\s*:/.test(text))
    .map(({ path }) => path);
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
