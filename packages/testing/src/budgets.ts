import type { SourceFile } from "./house-rules.js";

const relativeWord = /^(what|that|which|where|whose|whoever|whatever)$/;
const relativeWordsPer100 = 1.5;
/** A shorter document exceeds the share by a single word. */
const leastWords = 60;
const commentPercent = 10;

/** The words of a Markdown document beside code and tables, in lower case. */
export function wordsOf(document: string): string[] {
  const prose = document.replaceAll(/^```.*?^```/gms, "").replaceAll(/^\|.*$/gm, "");
  return (
    prose
      .replaceAll(/`[^`\n]*`/g, "")
      .toLowerCase()
      .match(/[a-z]+/g) ?? []
  );
}

function maxWordsOf(path: string): number {
  if (path === "apps/README.md") return 1_200;
  return path === "README.md" || /^apps\/[^/]+\/README\.md$/.test(path) ? 900 : Number.POSITIVE_INFINITY;
}

/** The documents with too many words or relative words, as `path: problem`. */
export function findHeavyDocuments(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => /(^|\/)(README|CHANGELOG|CONTRIBUTING)\.md$/.test(path))
    .flatMap(({ path, text }) => {
      const words = wordsOf(text);
      const share = (100 * words.filter((word) => relativeWord.test(word)).length) / words.length;
      const problems = [];
      if (words.length > maxWordsOf(path)) problems.push(`${path}: ${words.length} words`);
      if (words.length >= leastWords && share >= relativeWordsPer100)
        problems.push(`${path}: ${share.toFixed(1)} relative words per 100`);
      return problems;
    });
}

/** The apps and packages with too many comment lines, tests included and blank lines not counted. */
export function findTalkativeWorkspaces(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, { lines: number; comments: number }>();
  for (const { path, text } of files) {
    const workspace = /^(?:apps|packages)\/[^/]+(?=\/.*\.(?:tsx?|mjs)$)/.exec(path)?.[0];
    if (!workspace) continue;
    const lines = text.split("\n").filter((line) => line.trim());
    const count = counts.get(workspace) ?? { lines: 0, comments: 0 };
    count.lines += lines.length;
    count.comments += lines.filter((line) => /^\s*(\/\/|\/\*|\*)/.test(line)).length;
    counts.set(workspace, count);
  }
  return [...counts].flatMap(([workspace, { lines, comments }]) => {
    const excess = comments - Math.floor((commentPercent * lines) / 100);
    return excess > 0 ? [`${workspace}: ${comments} comment lines of ${lines}, ${excess} too many`] : [];
  });
}
