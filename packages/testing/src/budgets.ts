import type { SourceFile } from "./house-rules.js";

const relativeWord = /^(what|that|which|where|whose|whoever|whatever)$/;
const relativeWordsPer100 = 1.5;
/** A shorter document exceeds the share by a single word. */
const leastWords = 60;
const commentPercent = 10;

/** The words of all documents, of their prose alone and with tables. */
const houseWords = { prose: 17_150, all: 25_250 };

/** A document may have this many words, tables included, unless it is listed below. */
const documentWords = 700;
const longerDocuments: Readonly<Record<string, number>> = {
  "packages/cli/README.md": 850,
  ".github/CONTRIBUTING.md": 800,
  "README.md": 950,
  "CHANGELOG.md": 1_500,
  "apps/README.md": 1_200,
  "apps/LIMITS.md": 1_200,
  "apps/trace-api/README.md": 2_150,
  "apps/trace-api/INSIGHT.md": 780,
  "apps/analytics-api/README.md": 1_150,
  "apps/collector/README.md": 980,
  "apps/worker/README.md": 850,
  "packages/client/README.md": 835,
  "packages/web-stats/README.md": 1_700,
  "prisma/README.md": 1_190,
};

/** The settings that people read about in `docker/.env.example`: another one only in place of one. */
const mostSettings = 72;

/** Comments of a workspace in percent, where one in ten is not reached yet: a number only falls. */
const talkative: Readonly<Record<string, number>> = {
  "packages/accounts": 12,
  "packages/alerts": 12,
  "packages/auth": 17,
  "packages/client": 13,
  "packages/traces": 13,
  "packages/web-stats": 12,
};

/** The words of a Markdown document beside code, in lower case, and those of its tables apart. */
export function wordsOf(document: string): { prose: string[]; tables: string[] } {
  const text = document.replaceAll(/^```.*?^```/gms, "").replaceAll(/`[^`\n]*`/g, "");
  const wordsIn = (part: string) => part.toLowerCase().match(/[a-z]+/g) ?? [];
  return {
    prose: wordsIn(text.replaceAll(/^\|.*$/gm, "")),
    tables: (text.match(/^\|.*$/gm) ?? []).flatMap(wordsIn),
  };
}

/** The documents with too many words or relative words, as `path: problem`, and all of them together. */
export function findHeavyDocuments(files: readonly SourceFile[]): string[] {
  const sum = { prose: 0, all: 0 };
  const heavy = files
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) => {
      const { prose, tables } = wordsOf(text);
      const count = prose.length + tables.length;
      sum.prose += prose.length;
      sum.all += count;
      const share = (100 * prose.filter((word) => relativeWord.test(word)).length) / prose.length;
      const problems = [];
      if (count > (longerDocuments[path] ?? documentWords)) problems.push(`${path}: ${count} words`);
      if (prose.length >= leastWords && share >= relativeWordsPer100)
        problems.push(`${path}: ${share.toFixed(1)} relative words per 100`);
      return problems;
    });
  const isOver = sum.prose > houseWords.prose || sum.all > houseWords.all;
  return isOver ? [...heavy, `all documents: ${sum.prose} words of prose, ${sum.all} with tables`] : heavy;
}

/** The names of the settings in an example of an environment, if they are too many. */
export function findSettingsOverBudget(example: string): string[] {
  const names = [...new Set(example.match(/\b[A-Z][A-Z0-9_]+(?==)/g))];
  return names.length > mostSettings ? [`${names.length} settings, ${mostSettings} wanted: ${names.join(", ")}`] : [];
}

/** The apps and packages with too many comment lines; tests, fixtures and blank lines do not count. */
export function findTalkativeWorkspaces(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, { lines: number; comments: number }>();
  for (const { path, text } of files) {
    const workspace = /^(?:apps|packages)\/[^/]+(?=\/.*\.(?:tsx?|mjs)$)/.exec(path)?.[0];
    if (!workspace || /\.(test|fixture)\.tsx?$/.test(path)) continue;
    const lines = text.split("\n").filter((line) => line.trim());
    const count = counts.get(workspace) ?? { lines: 0, comments: 0 };
    count.lines += lines.length;
    count.comments += lines.filter((line) => /^\s*(\/\/|\/\*|\*)/.test(line)).length;
    counts.set(workspace, count);
  }
  return [...counts].flatMap(([workspace, { lines, comments }]) => {
    const percent = talkative[workspace] ?? commentPercent;
    const excess = comments - Math.floor((percent * lines) / 100);
    return excess > 0 ? [`${workspace}: ${comments} comment lines of ${lines}, ${excess} too many`] : [];
  });
}
