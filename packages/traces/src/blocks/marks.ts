import type { Labels } from "../trace-fields.js";

/** Few enough bytes for Postgres to keep them in the row. */
const markBytes = 1_536;
const markBits = 8 * markBytes;
/** A block ends at this many set bits: a mark that it does not have is then set by chance in one of four. */
const maxSetBits = markBits / 4;
export const maxBlockTraces = 256;

/** Marks of a searched name: enough to tell it apart. */
const nameMarks = 8;
const textMarks = 2;
const partLength = 3;

/** Whose whole texts are marked, beside the parts of names. The marks of each depend on its place. */
const markedNames = ["agent_id", "environment", "release", "tags"] as const;
type MarkedName = (typeof markedNames)[number];

export interface MarkedTrace extends Pick<Labels, Exclude<MarkedName, "agent_id">> {
  id: string;
  agent_id: string;
  name: string;
}

export const markedColumns = ["id", "name", ...markedNames].join(", ");

export interface MarkedBlock {
  lastId: string;
  marks: Buffer;
}

/** The bits of an agent or a label, set in each block with one of its traces. */
export function marksOfText(name: MarkedName, text: string): number[] {
  const first = textMarks * markedNames.indexOf(name);
  return Array.from({ length: textMarks }, (_, n) => markOf([first + n, ...codesOf(text)]));
}

/** Bits set in each block with a trace whose name has the text; undefined for a text too short to have any. */
export function marksOfSearch(text: string): number[] | undefined {
  const parts = [...partsOf(text)];
  if (parts.length === 0) return undefined;
  return Array.from({ length: nameMarks }, (_, n) => {
    const index = Math.round((n * (parts.length - 1)) / (nameMarks - 1));
    return markOf(parts[index] ?? []);
  });
}

/** Cuts traces into full blocks. @returns no block of the last traces, if others may join them */
export function cutBlocks(traces: readonly MarkedTrace[]): MarkedBlock[] {
  const blocks: MarkedBlock[] = [];
  let marks = createMarks();
  let count = 0;
  for (const trace of traces) {
    marks.add(trace);
    count++;
    if (count < maxBlockTraces && marks.setBits() < maxSetBits) continue;
    blocks.push({ lastId: trace.id, marks: marks.bytes });
    marks = createMarks();
    count = 0;
  }
  return blocks;
}

export function marksOf(traces: readonly MarkedTrace[]): Buffer {
  const marks = createMarks();
  for (const trace of traces) marks.add(trace);
  return marks.bytes;
}

function createMarks() {
  const bytes = Buffer.alloc(markBytes);
  let setBits = 0;
  const set = (mark: number) => {
    const [index, bit] = [mark >>> 3, 1 << (mark & 7)];
    const byte = bytes[index] ?? 0;
    if ((byte & bit) === 0) setBits++;
    bytes[index] = byte | bit;
  };
  return {
    bytes,
    setBits: () => setBits,
    add(trace: MarkedTrace) {
      for (const name of markedNames)
        for (const text of [trace[name] ?? []].flat()) for (const mark of marksOfText(name, text)) set(mark);
      for (const part of partsOf(trace.name)) set(markOf(part));
    },
  };
}

/** Each three characters, whichever their case. */
function* partsOf(text: string): Generator<number[]> {
  const codes = codesOf(isAscii(text) ? text.toLowerCase() : [...text].map(foldCase).join(""));
  for (let n = 0; n + partLength <= codes.length; n++) yield codes.slice(n, n + partLength);
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

function codesOf(text: string): number[] {
  const codes: number[] = [];
  for (const character of text) codes.push(character.codePointAt(0) ?? 0);
  return codes;
}

/** One character for all that a search takes for the same. */
export function foldCase(character: string): string {
  const folded = [character.toUpperCase().toLowerCase(), character.toLowerCase()];
  return folded.find((each) => [...each].length === 1) ?? character;
}

/** A hash (FNV-1a over numbers), as `get_bit` of Postgres counts bits. */
function markOf(numbers: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (const number of numbers) hash = Math.imul(hash ^ number, 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % markBits;
}
