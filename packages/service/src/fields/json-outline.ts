import {
  ascii,
  closingQuoteOfBytes,
  type JsonShape,
  type Piece,
  skipSpace,
  skipSpaceOfBytes,
  toClosing,
  usualPiece,
} from "./json-members.js";
import { JsonText } from "./text.js";

export interface JsonLayout {
  /** The members it knows; without them all are kept. */
  readonly keys?: readonly string[] | undefined;
  /** The members to keep as {@link JsonText}. */
  readonly opaqueKeys?: readonly string[] | undefined;
  /** A member that is a list of objects. A longer or repeated one is refused. */
  readonly list?: (JsonLayout & { readonly name: string; readonly most: number }) | undefined;
}

type OutlineProblem = { problem: "malformed"; at: number } | { problem: "too_deep" | "repeated" | "too_long" };

class Refused extends Error {
  constructor(readonly reason: OutlineProblem) {
    super(reason.problem);
  }
}

/** A step takes a few milliseconds, unless one string is longer. */
const charsPerStep = 131_072;

const { quote, comma, colon, openBracket, openBrace, closeBracket, closeBrace } = ascii;

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;
/** A part of a string: an expression reads it ten times as fast as a loop, and a bounded one needs little memory. */
const stringPart = /(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})){1,1024}/y;

/**
 * Does what parsing a large body and keeping its opaque members does, in steps, and without objects for what no schema reads: 1.3
 * million objects in 4 MiB take `JSON.parse` 0.3 seconds and 80 MB. A container in any other place becomes an empty one,
 * and members that the layout does not know are left out. The first problem in the text counts.
 */
export function* readOutline(
  text: string,
  layout: JsonLayout,
  maxDepth: number,
): Generator<void, { value: unknown } | OutlineProblem> {
  try {
    const reader = new OutlineReader(text, maxDepth);
    const outline = yield* reader.read(layout);
    const value: unknown = JSON.parse(outline);
    restore(value, layout, reader.texts);
    return { value };
  } catch (error) {
    if (error instanceof Refused) return error.reason;
    throw error;
  }
}

function restore(value: unknown, { opaqueKeys, list }: JsonLayout, texts: readonly string[]): void {
  if (typeof value !== "object" || value === null) return;
  const object = value as Record<string, unknown>;
  for (const key of opaqueKeys ?? []) {
    const index = Object.hasOwn(object, key) ? object[key] : null;
    if (index !== null) object[key] = new JsonText(texts[index as number] ?? "");
  }
  const elements = list && Object.hasOwn(object, list.name) ? object[list.name] : undefined;
  if (list && Array.isArray(elements)) for (const each of elements) restore(each, list, texts);
}

class OutlineReader {
  readonly texts: string[] = [];
  private readonly parts: string[] = [];
  private hasList = false;
  private nextStep = charsPerStep;

  constructor(
    private readonly text: string,
    private readonly maxDepth: number,
  ) {}

  *read(layout: JsonLayout): Generator<void, string> {
    const start = this.skipSpace(0);
    const end = this.skipSpace(yield* this.addValue(start, 0, layout));
    if (end < this.text.length) this.fail(end);
    return this.parts.join("");
  }

  /** Adds a value with members if it is an object, and otherwise without contents. */
  private *addValue(start: number, depth: number, layout: JsonLayout | undefined): Generator<void, number> {
    if (layout && this.text.charCodeAt(start) === openBrace) return yield* this.addObject(start, depth, layout);
    const end = yield* this.checkValue(start, depth);
    const first = this.text.charCodeAt(start);
    if (first === openBrace) this.parts.push("{}");
    else if (first === openBracket) this.parts.push("[]");
    else this.parts.push(this.text.slice(start, end));
    return end;
  }

  private *addObject(start: number, depth: number, layout: JsonLayout): Generator<void, number> {
    const { keys, list } = layout;
    this.parts.push("{");
    let isFirst = true;
    const end = yield* this.walk(start, depth, function* (this: OutlineReader, at: number) {
      const keyEnd = this.stringEnd(at);
      const written = this.text.slice(at + 1, keyEnd - 1);
      const key: string = written.includes("\\") ? JSON.parse(`"${written}"`) : written;
      const value = this.afterColon(keyEnd);
      const isKept = !keys || keys.includes(key);
      if (!isKept) return yield* this.checkValue(value, depth + 1);
      this.parts.push(isFirst ? `"${written}":` : `,"${written}":`);
      isFirst = false;
      if (layout.opaqueKeys?.includes(key)) return yield* this.addText(value, depth + 1);
      const isList = key === list?.name;
      if (isList) this.startList();
      return isList && this.text.charCodeAt(value) === openBracket
        ? yield* this.addList(value, depth + 1, list)
        : yield* this.addValue(value, depth + 1, undefined);
    });
    this.parts.push("}");
    return end;
  }

  private startList(): void {
    if (this.hasList) throw new Refused({ problem: "repeated" });
    this.hasList = true;
  }

  private *addList(start: number, depth: number, list: NonNullable<JsonLayout["list"]>): Generator<void, number> {
    let length = 0;
    this.parts.push("[");
    const end = yield* this.walk(start, depth, function* (this: OutlineReader, at: number) {
      if (length++ === list.most) throw new Refused({ problem: "too_long" });
      if (length > 1) this.parts.push(",");
      return yield* this.addValue(at, depth + 1, list);
    });
    this.parts.push("]");
    return end;
  }

  private *addText(start: number, depth: number): Generator<void, number> {
    const end = yield* this.checkValue(start, depth);
    const value = this.text.slice(start, end);
    this.parts.push(value === "null" ? value : String(this.texts.push(value) - 1));
    return end;
  }

  /** Walks over a container. `visit` takes the start of a member or element, and returns its end. */
  private *walk(
    start: number,
    depth: number,
    visit: (this: OutlineReader, at: number) => Generator<void, number>,
  ): Generator<void, number> {
    if (depth === this.maxDepth) throw new Refused({ problem: "too_deep" });
    const closing = this.text.charCodeAt(start) + toClosing;
    let i = this.skipSpace(start + 1);
    if (this.text.charCodeAt(i) === closing) return i + 1;
    for (;;) {
      i = this.skipSpace(yield* visit.call(this, i));
      const code = this.text.charCodeAt(i);
      if (code === closing) return i + 1;
      if (code !== comma) this.fail(i);
      i = this.skipSpace(i + 1);
    }
  }

  /** @returns the end of the value (RFC 8259) that starts at `start` */
  private *checkValue(start: number, depth: number): Generator<void, number> {
    const { text } = this;
    const closings: number[] = [];
    for (let i = start; ; ) {
      if (i >= this.nextStep) {
        this.nextStep = i + charsPerStep;
        yield;
      }
      const code = text.charCodeAt(i);
      if (code === openBrace || code === openBracket) {
        if (closings.length + depth >= this.maxDepth) throw new Refused({ problem: "too_deep" });
        const closing = code + toClosing;
        i = this.skipSpace(i + 1);
        if (text.charCodeAt(i) !== closing) {
          closings.push(closing);
          if (code === openBrace) i = this.afterColon(this.stringEnd(i));
          continue;
        }
        i++;
      } else i = this.scalarEnd(i, code);
      for (;;) {
        const closing = closings.at(-1);
        if (closing === undefined) return i;
        i = this.skipSpace(i);
        const next = text.charCodeAt(i);
        if (next === comma) {
          i = this.skipSpace(i + 1);
          if (closing === openBrace + toClosing) i = this.afterColon(this.stringEnd(i));
          break;
        }
        if (next !== closing) this.fail(i);
        closings.pop();
        i++;
      }
    }
  }

  private scalarEnd(start: number, code: number): number {
    if (code === quote) return this.stringEnd(start);
    const pattern = code >= 0x61 ? word : number;
    pattern.lastIndex = start;
    if (!pattern.test(this.text)) this.fail(start);
    return pattern.lastIndex;
  }

  private stringEnd(start: number): number {
    const { text } = this;
    if (text.charCodeAt(start) !== quote) this.fail(start);
    for (let i = start + 1; ; i = stringPart.lastIndex) {
      if (text.charCodeAt(i) === quote) return i + 1;
      stringPart.lastIndex = i;
      if (!stringPart.test(text)) this.fail(i);
    }
  }

  private afterColon(end: number): number {
    const at = this.skipSpace(end);
    if (this.text.charCodeAt(at) !== colon) this.fail(at);
    return this.skipSpace(at + 1);
  }

  private skipSpace(i: number): number {
    return skipSpace(this.text, i);
  }

  private fail(at: number): never {
    throw new Refused({ problem: "malformed", at });
  }
}

type Members = unknown[] | Record<string, unknown>;

interface Large extends Required<Piece> {
  bytes: Buffer;
  ends: JsonShape["ends"];
}

/**
 * As `JSON.parse`, in pieces of one or two times `bytesPerPiece`, or of one string.
 * @param shape what {@link jsonShape} found with the same `bytesPerPiece`, not deeper than 1,024 levels
 * @param options `readersAt` is a path of members, through lists, to lists. Where one is longer than a piece, its shorter objects,
 * but for the last, become functions that parse them
 * @throws SyntaxError
 */
export function* parseInPieces(
  bytes: Buffer,
  { ends, isBalanced }: JsonShape,
  { bytesPerPiece = usualPiece, readersAt }: Piece & { readersAt?: readonly string[] | undefined } = {},
): Generator<void, unknown> {
  const start = skipSpaceOfBytes(bytes, 0);
  const end = ends.get(start);
  if (bytes.length > bytesPerPiece && !isBalanced) throw new SyntaxError("A bracket is missing");
  if (bytes.length <= bytesPerPiece || end === undefined) return JSON.parse(bytes.toString());
  if (skipSpaceOfBytes(bytes, end + 1) < bytes.length) throw new SyntaxError("There is more than one value");
  return yield* parseLarge({ bytes, bytesPerPiece, ends }, start, end, readersAt);
}

function* parseLarge(
  json: Large,
  start: number,
  end: number,
  readersAt: readonly string[] | undefined,
): Generator<void, Members> {
  const { bytes, bytesPerPiece, ends } = json;
  const value: Members = bytes[start] === openBracket ? [] : {};
  const readers = Array.isArray(value) && readersAt?.length === 0 ? value : undefined;
  let pieceStart = start + 1;
  let memberStart = pieceStart;
  let nextStep = pieceStart + bytesPerPiece;
  for (let i = pieceStart, depth = 0; i < end; i++) {
    const code = bytes[i];
    if (code === quote) i = closingQuoteOfBytes(bytes, i);
    else if (code === closeBracket || code === closeBrace) depth--;
    else if (code === comma && depth === 0) {
      if (readers && bytes[skipSpaceOfBytes(bytes, memberStart)] === openBrace) {
        if (memberStart > pieceStart) addMembers(value, bytes.toString("utf8", pieceStart, memberStart - 1));
        readers.push(readerOf(bytes, memberStart, i));
        pieceStart = i + 1;
      }
      memberStart = i + 1;
      if (i - pieceStart > bytesPerPiece) {
        addMembers(value, bytes.toString("utf8", pieceStart, i));
        pieceStart = memberStart;
      } else if (i < nextStep) continue;
      nextStep = i + bytesPerPiece;
      yield;
    } else if (code === openBracket || code === openBrace) {
      const childEnd = ends.get(i);
      if (childEnd === undefined) depth++;
      else if (childEnd - i <= bytesPerPiece) i = childEnd;
      else {
        if (memberStart > pieceStart) addMembers(value, bytes.toString("utf8", pieceStart, memberStart - 1));
        yield* addChild(json, value, [memberStart, i, childEnd], readersAt);
        i = skipSpaceOfBytes(bytes, childEnd + 1);
        if (i < end && bytes[i] !== comma) throw new SyntaxError("A comma is missing");
        memberStart = i + 1;
        pieceStart = memberStart;
        yield;
      }
    }
  }
  const rest = bytes.toString("utf8", pieceStart, Math.max(pieceStart, end));
  const isEmpty = pieceStart === start + 1 && isBlank(rest);
  if (pieceStart <= end && !isEmpty) addMembers(value, rest);
  return value;
}

function readerOf(bytes: Buffer, start: number, end: number): () => unknown {
  return () => JSON.parse(bytes.toString("utf8", start, end));
}

function addMembers(value: Members, piece: string): void {
  if (isBlank(piece)) throw new SyntaxError("A value is missing");
  if (Array.isArray(value)) for (const each of JSON.parse(`[${piece}]`)) value.push(each);
  else for (const [key, each] of Object.entries(JSON.parse(`{${piece}}`))) addMember(value, key, each);
}

/** Before a large child is its key with a colon, in an array nothing. */
function* addChild(
  json: Large,
  value: Members,
  [before, start, end]: readonly [number, number, number],
  readersAt: readonly string[] | undefined,
): Generator<void, void> {
  const head = json.bytes.toString("utf8", before, start);
  if (Array.isArray(value)) {
    if (!isBlank(head)) throw new SyntaxError("A comma is missing");
    value.push(yield* parseLarge(json, start, end, readersAt?.length === 0 ? undefined : readersAt));
  } else {
    const key = Object.keys(JSON.parse(`{${head}null}`))[0] ?? "";
    addMember(value, key, yield* parseLarge(json, start, end, readersAt?.[0] === key ? readersAt.slice(1) : undefined));
  }
}

function addMember(object: Record<string, unknown>, key: string, value: unknown): void {
  // An assignment would set the prototype.
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  else object[key] = value;
}

function isBlank(text: string): boolean {
  return !/[^ \t\r\n]/.test(text);
}
