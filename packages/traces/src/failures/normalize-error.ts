/** Longer errors are cut first, so hostile ones cost little. */
export const maxErrorInput = 2_000;
const maxErrorLength = 300;

/**
 * Tokens of an error that differ from trace to trace; the first alternative that matches at a place counts. No alternative
 * tries a text twice, so time grows with the length alone.
 */
const tokens = new RegExp(
  [
    /(?<quoted>"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|‘[^’\n]*’|«[^»\n]*»|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}]))/u,
    /(?<![0-9a-z])(?<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:0x)?(?![0-9]+(?![0-9a-z]))[0-9a-f]{8,})(?![0-9a-z])/,
    /(?<![0-9a-z])(?<hex>0x[0-9a-f]+)(?![0-9a-z])/,
    /(?<dotted>[0-9]+(?:\.[0-9]+){2,})/,
    /(?<number>[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "giu",
);

/**
 * The text that errors of one kind share: numbers become `N`, UUIDs and hexadecimal of 8 digits or more `ID`, quoted text
 * `"…"`. Addresses and paths keep their shape. At most 300 characters.
 */
export function normalizeError(error: string): string {
  // The cut may fall into a quotation.
  const input = error.length > maxErrorInput ? `${error.slice(0, maxErrorInput)}"` : error;
  const text = input
    .replace(tokens, (token: string, ...rest: unknown[]) => {
      const groups = rest.at(-1) as Partial<Record<"quoted" | "id" | "hex" | "dotted", string>>;
      if (groups.quoted !== undefined) return '"…"';
      if (groups.id !== undefined) return "ID";
      return groups.dotted === undefined ? "N" : token.replace(/[0-9]+/g, "N");
    })
    .trim()
    .toWellFormed();
  return [...text].slice(0, maxErrorLength).join("");
}
