/** A small wrong change of a source. */
export interface Mutation {
  /** From 1. */
  readonly line: number;
  /** The changed line before and after, without indentation. */
  readonly before: string;
  readonly after: string;
  readonly source: string;
}

/** What is replaced by what: operators of TypeScript and of the SQL in it, constants, and whole statements. */
const swaps: readonly (readonly [find: RegExp, replacement: string | ((found: string) => string)])[] = [
  [/ === /g, " !== "],
  [/ !== /g, " === "],
  [/ < /g, " <= "],
  [/ <= /g, " < "],
  [/ > /g, " >= "],
  [/ >= /g, " > "],
  [/ && /g, " || "],
  [/ \|\| /g, " && "],
  [/ \?\? /g, " && "],
  [/ \+ /g, " - "],
  [/ - /g, " + "],
  [/ \* /g, " / "],
  [/(?<=[\s(])!(?=[a-z(])/g, ""],
  [/\btrue\b/g, "false"],
  [/\bfalse\b/g, "true"],
  [/(?<![\w.$'"/-])\d[\d_]*(?![\w.$'"/-])/g, (found) => String(Number(found.replaceAll("_", "")) + 1)],
  [/ AND /g, " OR "],
  [/ OR /g, " AND "],
  [/ IS NULL\b/g, " IS NOT NULL"],
  [/ IS NOT NULL\b/g, " IS NULL"],
  [/\bNOT EXISTS \(/g, "EXISTS ("],
  [/\b(?<!NOT )EXISTS \(/g, "NOT EXISTS ("],
  [/ DESC\b/g, " ASC"],
  [/\b(least|LEAST)\(/g, "greatest("],
  [/\b(greatest|GREATEST)\(/g, "least("],
  [/\bcount\(DISTINCT /g, "count("],
  [/^\s*(await |void )?[a-z][\w.]*\([^`]*\);$/g, ""],
];

/** Lines that do nothing when the program runs. */
const passive = /^\s*(\*|\/\*|\/\/|import\b|export (\*|type|interface)\b|type\b|interface\b|readonly\b|\}|$)/;

/** Every mutation of a source, in its order. */
export function findMutations(source: string): Mutation[] {
  const lines = source.split("\n");
  return lines.flatMap((line, index) =>
    passive.test(line)
      ? []
      : swaps.flatMap(([find, replacement]) =>
          [...line.matchAll(find)].map((match) => {
            const by = typeof replacement === "string" ? replacement : replacement(match[0]);
            const changed = line.slice(0, match.index) + by + line.slice(match.index + match[0].length);
            return {
              line: index + 1,
              before: line.trim(),
              after: changed.trim(),
              source: lines.with(index, changed).join("\n"),
            };
          }),
        ),
  );
}
