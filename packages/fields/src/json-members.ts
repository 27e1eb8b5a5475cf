const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * How deeply arrays and objects nest in a JSON text; 0 for a bare value. Reads any text without failing, so that it can
 * run before the parser and keep it from deep input.
 */
export function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) i = closingQuote(text, i);
    else if (code === openBrace || code === openBracket) deepest = Math.max(deepest, ++depth);
    else if (code === closeBrace || code === closeBracket) depth--;
  }
  return deepest;
}

/**
 * The raw text of some members of a JSON object, without white space around it. Of a doubled key the last counts, as in
 * `JSON.parse`.
 * @param text a text that `JSON.parse` accepts and that is an object
 * @param keys the members wanted; absent ones are absent from the result
 */
export function jsonMembers(text: string, keys: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  let i = text.indexOf("{") + 1;
  while (i < text.length) {
    const keyStart = text.indexOf('"', i);
    if (keyStart < 0) break;
    const keyEnd = closingQuote(text, keyStart);
    const valueStart = text.indexOf(":", keyEnd) + 1;
    const valueEnd = endOfMember(text, valueStart);
    const key: unknown = JSON.parse(text.slice(keyStart, keyEnd + 1));
    if (typeof key === "string" && keys.includes(key)) found.set(key, text.slice(valueStart, valueEnd).trim());
    i = valueEnd + 1;
  }
  return found;
}

/**
 * The raw texts of the elements of a JSON array, without white space around them.
 * @param text a text that `JSON.parse` accepts and that is an array
 */
export function jsonElements(text: string): string[] {
  const elements: string[] = [];
  const end = text.lastIndexOf("]");
  for (let i = text.indexOf("[") + 1; i <= end; ) {
    const elementEnd = endOfMember(text, i);
    elements.push(text.slice(i, elementEnd).trim());
    i = elementEnd + 1;
  }
  return elements.length === 1 && elements[0] === "" ? [] : elements;
}

/** The index of the comma or closing brace that ends the member or element whose value starts at `start`. */
function endOfMember(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) i = closingQuote(text, i);
    else if (code === openBrace || code === openBracket) depth++;
    else if (code === comma && depth === 0) return i;
    else if (code === closeBrace || code === closeBracket) {
      if (depth === 0) return i;
      depth--;
    }
  }
  return text.length;
}

/** The index of the quote that closes the string opened at `open`, or the text's length where none does. */
function closingQuote(text: string, open: number): number {
  for (let i = open + 1; ; ) {
    const close = text.indexOf('"', i);
    if (close < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return close;
    i = close + 1;
  }
}
