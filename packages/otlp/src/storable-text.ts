/** What stands for a character that cannot be stored (Unicode, U+FFFD REPLACEMENT CHARACTER). */
const replacement = "\ufffd";

/**
 * A text as a column can hold it: NUL and lone surrogates, which have no form in Postgres text, become U+FFFD.
 * @param maxLength in UTF-16 code units; what is longer is cut, though not through a character
 */
export function storableText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, "") : text;
  return cut.toWellFormed().replaceAll("\u0000", replacement);
}
