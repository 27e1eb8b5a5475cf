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

/** Raw texts of members, by key. */
export type JsonMembers = ReadonlyMap<string, string>;

/**
 * The raw text of some members of a JSON object, without white space around it. Of a doubled key the last counts, as in
 * `JSON.parse`.
 * @param text a text that `JSON.parse` accepts and that is an object
 * @param keys the members wanted; absent ones are absent from the result
 */
export function jsonMembers(text: string, keys: readonly string[]): JsonMembers {
  const found = new Map<string, string>();
  collectMembers(text, text.indexOf("{"), keys, found);
  return found;
}

/**
 * The same for each element of a list that is a member of a JSON object. Of a doubled list the last counts, and the work is
 * that of two lists at most, however many there are.
 * @param list the list's key
 * @param most elements at most; a list that has more gives nothing
 * @returns the elements in order, undefined for those that are no objects; nothing where there is no such list
 */
export function jsonElementMembers(
  text: string,
  list: string,
  keys: readonly string[],
  most = Number.POSITIVE_INFINITY,
): (JsonMembers | undefined)[] {
  let elements: (JsonMembers | undefined)[] = [];
  let lastOpen = -1;
  let lists = 0;
  walkObject(text, text.indexOf("{"), (key, start) => {
    const open = skipSpace(text, start);
    if (key !== list || text.charCodeAt(open) !== openBracket) return endOfMember(text, start);
    lastOpen = open;
    if (++lists > 1) return endOfMember(text, start);
    const collected = collectElements(text, open, keys, most);
    elements = collected.elements;
    return collected.end;
  });
  return lists > 1 ? collectElements(text, lastOpen, keys, most).elements : elements;
}

/** The members of a list's elements, and the index where its member ends. */
function collectElements(text: string, open: number, keys: readonly string[], most: number) {
  const elements: (JsonMembers | undefined)[] = [];
  let isTooLong = false;
  const end = walkList(text, open, (start) => {
    if (elements.length === most) {
      isTooLong = true;
      return text.length;
    }
    if (text.charCodeAt(start) !== openBrace) {
      elements.push(undefined);
      return endOfMember(text, start);
    }
    const found = new Map<string, string>();
    elements.push(found);
    return collectMembers(text, start, keys, found);
  });
  return isTooLong ? { elements: [], end: endOfMember(text, open) } : { elements, end };
}

/** Puts the texts of an object's members into `found`; returns the index after its closing brace. */
function collectMembers(text: string, open: number, keys: readonly string[], found: Map<string, string>): number {
  return walkObject(text, open, (key, start) => {
    const end = endOfMember(text, start);
    if (keys.includes(key)) found.set(key, text.slice(start, end).trim());
    return end;
  });
}

/**
 * Goes through the members of the object whose brace is at `open`.
 * @param visit takes a member's key and the index after its colon, and returns an index at or behind its value's end
 * @returns the index after the closing brace
 */
function walkObject(text: string, open: number, visit: (key: string, start: number) => number): number {
  let i = skipSpace(text, open + 1);
  while (text.charCodeAt(i) === quote) {
    const keyEnd = closingQuote(text, i);
    const key = text.slice(i + 1, keyEnd);
    const start = text.indexOf(":", keyEnd) + 1;
    i = skipSpace(text, visit(key.includes("\\") ? JSON.parse(`"${key}"`) : key, start));
    if (text.charCodeAt(i) === comma) i = skipSpace(text, i + 1);
  }
  return i + 1;
}

/** The same for the elements of the list whose bracket is at `open`; `visit` takes the index of a value's first character. */
function walkList(text: string, open: number, visit: (start: number) => number): number {
  let i = skipSpace(text, open + 1);
  while (i < text.length && text.charCodeAt(i) !== closeBracket) {
    i = skipSpace(text, visit(i));
    if (text.charCodeAt(i) === comma) i = skipSpace(text, i + 1);
  }
  return i + 1;
}

/** The index of the first character from `i` on that is no white space of JSON (RFC 8259, section 2). */
function skipSpace(text: string, i: number): number {
  for (let at = i; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
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
