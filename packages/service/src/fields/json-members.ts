export const ascii = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;
/** From an opening bracket or brace to its closing one in ASCII. */
export const toClosing = 2;
const { quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket } = ascii;

/** What a text holds, as far as it takes a parser time and memory. */
export interface JsonShape {
  /** Levels of arrays and objects, 0 for a bare value. */
  depth: number;
  containers: number;
  /** Doubled ones too. */
  members: number;
  /** About all. */
  values: number;
  /** The ends of containers by their starts: of those longer than a piece, and of most at the outer levels. */
  ends: ReadonlyMap<number, number>;
  /** Whether brackets and braces, as far as `ends` has them, match. */
  isBalanced: boolean;
}

export interface Piece {
  /** Parsing as many bytes takes a few milliseconds, whatever they hold. */
  bytesPerPiece?: number;
}

export const usualPiece = 65_536;
/** A step of {@link jsonShape} takes less than a millisecond, unless one string is longer. */
const bytesPerStep = 131_072;
/** Ends that the parser leaps to: of spans in an OTLP/JSON body, and of what is around them. At most some 115,000 in 4 MiB. */
const outerLevels = 7;
const usualLeap = 256;
/** Deeper texts are refused. */
const maxEndDepth = 1_024;

/**
 * Of any text in UTF-8, before a parser sees it. Yields between steps.
 * @param options with `enough` values of the text's beginning alone
 */
export function* jsonShape(
  bytes: Uint8Array,
  { enough = Number.POSITIVE_INFINITY, bytesPerPiece = usualPiece }: Piece & { enough?: number | undefined } = {},
): Generator<void, JsonShape> {
  const reader = new ShapeReader(bytes, enough, bytesPerPiece);
  for (let end = bytesPerStep; !reader.readTo(end); end = reader.at + bytesPerStep) yield;
  return reader;
}

class ShapeReader implements JsonShape {
  readonly ends = new Map<number, number>();
  depth = 0;
  containers = 0;
  members = 0;
  values = 1;
  isBalanced = true;
  at = 0;
  private level = 0;
  private readonly starts: number[] = [];
  private readonly minLeap: number;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly enough: number,
    private readonly bytesPerPiece: number,
  ) {
    this.minLeap = Math.min(usualLeap, bytesPerPiece);
  }

  /** Without a generator, so that its variables stay in registers. @returns whether it has read all */
  readTo(end: number): boolean {
    const { bytes, starts, enough } = this;
    const { length } = bytes;
    let { at, level, depth, members, values } = this;
    for (const until = Math.min(end, length); at < until && values <= enough; at++) {
      const code = bytes[at];
      if (code === quote) at = closingQuoteOfBytes(bytes, at);
      else if (code === colon) members++;
      else if (code === comma) values++;
      else if (code === openBrace || code === openBracket) {
        values++;
        this.containers++;
        if (++level > depth) depth = level;
        if (level <= maxEndDepth) starts[level] = at;
      } else if (code === closeBrace || code === closeBracket) this.close(level--, at, code);
    }
    Object.assign(this, { at, level, depth, members, values });
    const isRead = at >= length || values > enough;
    if (isRead && level > 0) this.isBalanced = false;
    return isRead;
  }

  private close(level: number, end: number, code: number): void {
    if (level < 1) this.isBalanced = false;
    const start = this.starts[level] ?? end;
    if (end - start <= (level <= outerLevels ? this.minLeap : this.bytesPerPiece)) return;
    if ((this.bytes[start] ?? 0) + toClosing !== code) this.isBalanced = false;
    this.ends.set(start, end);
  }
}

/** A step of {@link findRepeatedMember} takes a few milliseconds. */
const membersPerStep = 5_000;

/** Whether the objects of a JSON text have more than `most` different keys, as they are written. A generator that yields between steps. */
export function* hasManyKeys(text: string, most: number): Generator<void, boolean> {
  const keys = new Set<string>();
  let members = 0;
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) !== quote) continue;
    const close = closingQuote(text, i);
    if (text.charCodeAt(skipSpace(text, close + 1)) === colon) {
      if (keys.add(text.slice(i + 1, close)).size > most) return true;
      if (++members % membersPerStep === 0) yield;
    }
    i = close;
  }
  return false;
}

/** Finds a key that an object of a valid JSON text has twice. A generator that yields between steps and returns the key. */
export function* findRepeatedMember(text: string): Generator<void, string | undefined> {
  const open: (Set<string> | undefined)[] = [];
  let members = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === openBrace) open.push(new Set());
    else if (code === openBracket) open.push(undefined);
    else if (code === closeBrace || code === closeBracket) open.pop();
    else if (code === quote) {
      const close = closingQuote(text, i);
      const keys = open.at(-1);
      if (keys && text.charCodeAt(skipSpace(text, close + 1)) === colon) {
        const key = readKey(text.slice(i + 1, close)) ?? "";
        if (keys.has(key)) return key;
        keys.add(key);
        if (++members % membersPerStep === 0) yield;
      }
      i = close;
    }
  }
  return undefined;
}

type JsonMembers = ReadonlyMap<string, string>;

export type JsonMember = readonly [key: string, text: string];

interface Keys {
  includes(key: string): boolean;
}

/** Finds members of a valid JSON object, as text without space around it. The last of doubled keys counts. */
export function jsonMembers(text: string, keys: Keys): JsonMembers {
  const found = new Map<string, string>();
  collectMembers(text, text.indexOf("{"), keys, (key, value) => found.set(key, value));
  return found;
}

/**
 * Finds members of each element of a list in a JSON object, doubled ones too. It accepts any text, so it can run before the
 * parser and keep long lists from it.
 * @returns an entry per element, undefined for elements that are no objects; none where the list is absent; "repeated" where the
 * object has the key twice; "too_long" for more than `most` elements
 */
export function jsonElementMembers(
  text: string,
  list: string,
  keys: readonly string[],
  most: number,
): (readonly JsonMember[] | undefined)[] | "repeated" | "too_long" {
  const elements: (readonly JsonMember[] | undefined)[] = [];
  let problem: "repeated" | "too_long" | undefined;
  let isThere = false;
  walkObject(text, text.indexOf("{"), (key, start) => {
    if (key !== list) return endOfMember(text, start);
    if (isThere) problem = "repeated";
    isThere = true;
    const open = skipSpace(text, start);
    if (problem || text.charCodeAt(open) !== openBracket) return problem ? text.length : endOfMember(text, start);
    return walkList(text, open, (at) => {
      if (elements.length === most) problem = "too_long";
      if (problem) return text.length;
      const found: JsonMember[] = [];
      const isObject = text.charCodeAt(at) === openBrace;
      elements.push(isObject ? found : undefined);
      return isObject
        ? collectMembers(text, at, keys, (name, value) => found.push([name, value]))
        : endOfMember(text, at);
    });
  });
  return problem ?? elements;
}

function objectMembers(text: string): { key: string; value: string; text: string }[] {
  const members: { key: string; value: string; text: string }[] = [];
  walkObject(text, text.indexOf("{"), (key, start, open) => {
    const end = endOfMember(text, start);
    members.push({ key, value: text.slice(start, end).trim(), text: text.slice(open, end).trim() });
    return end;
  });
  return members;
}

function collectMembers(text: string, open: number, keys: Keys, keep: (key: string, value: string) => void): number {
  return walkObject(text, open, (key, start) => {
    const end = endOfMember(text, start);
    if (keys.includes(key)) keep(key, text.slice(start, end).trim());
    return end;
  });
}

/** `visit` takes a key and its indexes, and returns one at or after its value's end. Ends at what is no JSON. */
function walkObject(
  text: string,
  open: number,
  visit: (key: string, start: number, keyOpen: number) => number,
): number {
  let i = skipSpace(text, open + 1);
  while (text.charCodeAt(i) === quote) {
    const keyEnd = closingQuote(text, i);
    const key = readKey(text.slice(i + 1, keyEnd));
    const keyColon = text.indexOf(":", keyEnd);
    if (key === undefined || keyColon < 0) return text.length;
    i = skipSpace(text, visit(key, keyColon + 1, i));
    if (text.charCodeAt(i) !== comma) break;
    i = skipSpace(text, i + 1);
  }
  return i + 1;
}

function readKey(text: string): string | undefined {
  if (!text.includes("\\")) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return undefined;
  }
}

function walkList(text: string, open: number, visit: (start: number) => number): number {
  let i = skipSpace(text, open + 1);
  while (i < text.length && text.charCodeAt(i) !== closeBracket) {
    i = skipSpace(text, visit(i));
    if (text.charCodeAt(i) !== comma) break;
    i = skipSpace(text, i + 1);
  }
  return i + 1;
}

export function skipSpace(text: string, i: number): number {
  for (let at = i; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

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

/** The index of the quote that closes the string at `open`, or the text's length. */
function closingQuote(text: string, open: number): number {
  const first = text.indexOf('"', open + 1);
  if (first < 0) return text.length;
  if (text.charCodeAt(first - 1) !== backslash) return first;
  for (let i = open + 1; ; i = stringPart.lastIndex) {
    if (text.charCodeAt(i) === quote) return i;
    stringPart.lastIndex = i;
    if (!stringPart.test(text)) return text.length;
  }
}

export function skipSpaceOfBytes(bytes: Uint8Array, i: number): number {
  for (let at = i; ; at++) {
    const code = bytes[at];
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

/** As {@link closingQuote}. In UTF-8 no other character has a quote's or a backslash's byte. */
export function closingQuoteOfBytes(bytes: Uint8Array, open: number): number {
  const { length } = bytes;
  for (let i = open + 1; i < length; i++) {
    const code = bytes[i];
    if (code === quote) return i;
    if (code === backslash) i++;
  }
  return length;
}

/** A part of a string without regard to what escapes mean. */
const stringPart = /(?:[^"\\]+|\\.){1,1024}/sy;

/** A string, an empty list or object, white space (RFC 8259, section 2), or a character that shapes a JSON text. */
const piece = /"[^"\\]*(?:\\.[^"\\]*)*"|[{[][ \n\r\t]*[}\]]|[ \n\r\t]+|[{}[\],:]/g;

/** Writes valid JSON in one line, or with an indent as `JSON.stringify`. Strings, numbers and doubled keys stay as they are. */
export function layOutJson(text: string, indent = 0): string {
  let depth = 0;
  const line = () => (indent > 0 ? `\n${" ".repeat(indent * depth)}` : "");
  return text.replace(piece, (found) => {
    const last = found.at(-1) ?? "";
    if (last === '"') return found;
    if (last === "}" || last === "]") {
      if (found.length > 1) return found.charAt(0) + last;
      depth--;
      return line() + last;
    }
    if (last === ":") return indent > 0 ? ": " : ":";
    if (last === "{" || last === "[") depth++;
    else if (last !== ",") return "";
    return last + line();
  });
}

/** Replaces members of a JSON object as text: new ones go to the end, null removes one, others stay as they are. */
export function mergeMembers(base: string, changes: string): string {
  const changed = new Map(objectMembers(changes).map(({ key, value }) => [key, value]));
  const kept: string[] = [];
  const seen = new Set<string>();
  const add = (key: string, value: string) => {
    if (value !== "null" && !seen.has(key)) kept.push(`${JSON.stringify(key)}:${value}`);
    seen.add(key);
  };
  for (const { key, text } of objectMembers(base)) {
    const replacement = changed.get(key);
    if (replacement === undefined) kept.push(text);
    else add(key, replacement);
  }
  for (const [key, value] of changed) add(key, value);
  return `{${kept.join(",")}}`;
}
