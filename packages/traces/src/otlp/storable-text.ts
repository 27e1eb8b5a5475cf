const replacement = "\ufffd";

/**
 * Replaces NUL and lone surrogates, which Postgres text cannot hold, by U+FFFD.
 * @param maxLength in UTF-16 code units; a longer text is cut between characters
 */
export function storableText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, "") : text;
  return cut.toWellFormed().replaceAll("\u0000", replacement);
}
