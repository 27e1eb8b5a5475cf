/** A value within a JSON text, by offsets. Nothing is parsed: what is shown is a slice of the text. */
export interface JsonValue {
  readonly type: "object" | "array" | "string" | "number" | "word";
  readonly start: number;
  readonly end: number;
}

export interface JsonChild extends JsonValue {
  /** The key's token with its quotes; undefined in an array. */
  readonly key: string | undefined;
}

const blanks = /[ \t\n\r]*/y;
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const skipBlanks = (text: string, at: number) => match(blanks, text, at);

/** The end of a string token, found by its quotes: a regular expression would need a stack for megabytes. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
  return -1;
}

const brackets = /["[\]{}]/g;

/** The end of an object or array: its brackets are counted, strings passed over. Depth costs nothing. */
function endOfGroup(text: string, start: number): number {
  let depth = 0;
  brackets.lastIndex = start;
  for (let found = brackets.exec(text); found; found = brackets.exec(text)) {
    const [sign] = found;
    if (sign === '"') {
      const end = endOfString(text, found.index);
      if (end === -1) return -1;
      brackets.lastIndex = end;
    } else if (sign === "{" || sign === "[") depth++;
    else if (--depth === 0) return found.index + 1;
  }
  return -1;
}

function valueAt(text: string, offset: number): JsonValue | undefined {
  const start = skipBlanks(text, offset);
  const sign = text[start];
  const [type, end] =
    sign === "{" || sign === "["
      ? ([sign === "{" ? "object" : "array", endOfGroup(text, start)] as const)
      : sign === '"'
        ? (["string", endOfString(text, start)] as const)
        : match(number, text, start) > start
          ? (["number", match(number, text, start)] as const)
          : (["word", match(word, text, start)] as const);
  return end === -1 ? undefined : { type, start, end };
}

/** The value of a whole text; undefined where it is not one JSON value, such as a text that was cut. */
export function rootOf(text: string): JsonValue | undefined {
  const root = valueAt(text, 0);
  return root && skipBlanks(text, root.end) === text.length ? root : undefined;
}

/** The members of an object or the items of an array, in order; a key that comes twice is there twice. */
export function childrenOf(text: string, parent: JsonValue, most = Number.POSITIVE_INFINITY): JsonChild[] {
  const children: JsonChild[] = [];
  if (parent.type !== "object" && parent.type !== "array") return children;
  let at = skipBlanks(text, parent.start + 1);
  while (at < parent.end - 1 && children.length < most) {
    let key: string | undefined;
    if (parent.type === "object") {
      const end = text[at] === '"' ? endOfString(text, at) : -1;
      if (end === -1) break;
      key = text.slice(at, end);
      at = skipBlanks(text, end) + 1;
    }
    const value = valueAt(text, at);
    if (!value) break;
    children.push({ ...value, key });
    at = skipBlanks(text, skipBlanks(text, value.end) + 1);
  }
  return children;
}

export const tokenOf = (text: string, { start, end }: JsonValue): string => text.slice(start, end);

/** A string token without its quotes and escapes; the token itself where an escape is wrong. */
export function textOf(token: string): string {
  if (!token.includes("\\")) return token.slice(1, -1);
  try {
    return JSON.parse(token) as string;
  } catch {
    return token;
  }
}

export function stringOf(text: string, value: JsonValue | undefined): string | undefined {
  return value?.type === "string" ? textOf(tokenOf(text, value)) : undefined;
}
