import { Buffer } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Work } from "../work.js";
import { type DayPart, detailNames, type Ids, type PartNeeds, type TextColumn, visitDimensions } from "./day-part.js";

/**
 * Columns as bytes: the length of a header (32 bits), the header as JSON, then each array and each chunk of texts as JSON at a
 * multiple of 8 bytes, in the byte order of the machine, which is little-endian on every platform of Node but one.
 */
type Block = Buffer<ArrayBuffer>;

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

const arrays = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array } as const;

type Kind = keyof typeof arrays;

interface Entry {
  /** Where the array begins after the header; -1 for an array of zeros, which takes no bytes. */
  at: number;
  kind: Kind;
  length: number;
  /** Where each chunk of a column's texts begins after the header, and its bytes of JSON. */
  texts?: readonly (readonly [at: number, bytes: number])[];
}

/** Characters of texts that are read in one piece, which takes 2 ms at most. */
const chunkCharacters = 65_536;

const align = (bytes: number) => Math.ceil(bytes / 8) * 8;

function kindOf(numbers: Numbers): Kind {
  if (numbers instanceof Float64Array) return "f8";
  return numbers instanceof Uint32Array ? "u4" : numbers instanceof Uint16Array ? "u2" : "u1";
}

/** Writes columns by name. An array of zeros alone takes no bytes. */
function writeBlock(columns: Readonly<Record<string, TextColumn | Numbers>>): Block {
  const entries: Record<string, Entry> = {};
  const parts: [at: number, bytes: Uint8Array][] = [];
  let size = 0;
  const add = (bytes: Uint8Array) => {
    const at = size;
    parts.push([at, bytes]);
    size += align(bytes.length);
    return at;
  };
  for (const [name, column] of Object.entries(columns)) {
    const isText = "values" in column && "ids" in column;
    const numbers: Numbers = isText ? column.ids : column;
    const isEmpty = numbers.every((number) => number === 0);
    const { buffer, byteOffset, byteLength, length } = numbers;
    const at = isEmpty ? -1 : add(new Uint8Array(buffer, byteOffset, byteLength));
    const texts = isText && chunksOf(column.values).map((chunk) => [add(chunk), chunk.length] as const);
    entries[name] = { at, kind: kindOf(numbers), length, ...(texts && { texts }) };
  }
  const header = Buffer.from(JSON.stringify(entries));
  const start = align(4 + header.length);
  const block = Buffer.alloc(start + size);
  block.writeUInt32LE(header.length, 0);
  block.set(header, 4);
  for (const [at, bytes] of parts) block.set(bytes, start + at);
  return block;
}

function chunksOf(values: readonly string[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0, end = 0; start < values.length; start = end) {
    for (let left = chunkCharacters; end < values.length && left > 0; end++) left -= values[end]?.length ?? 0;
    chunks.push(Buffer.from(JSON.stringify(values.slice(start, end))));
  }
  return chunks;
}

/** The columns of a block. Arrays share the memory of a copy of it. */
interface BlockReader {
  numbers(name: string): Numbers;
  texts(name: string): Promise<TextColumn>;
}

function readBlock(stored: Uint8Array, work: Work): BlockReader {
  // A copy, since arrays begin at multiples of their width and the driver's buffers are shared.
  const bytes = new Uint8Array(stored).buffer;
  const headerLength = new DataView(bytes).getUint32(0, true);
  const entries = JSON.parse(Buffer.from(bytes, 4, headerLength).toString()) as Record<string, Entry>;
  const start = align(4 + headerLength);
  const find = (name: string): Entry => {
    const entry = entries[name];
    if (!entry) throw new Error(`The block has no column ${name}`);
    return entry;
  };
  const numbersOf = ({ at, kind, length }: Entry): Numbers =>
    at < 0 ? new arrays[kind](length) : new arrays[kind](bytes, start + at, length);
  return {
    numbers: (name) => numbersOf(find(name)),
    async texts(name) {
      const entry = find(name);
      const values: string[] = [];
      for (const [at, length] of entry.texts ?? []) {
        for (const value of JSON.parse(Buffer.from(bytes, start + at, length).toString()) as string[])
          values.push(value);
        if (work.spend(length)) await work.rest();
      }
      return { values, ids: numbersOf(entry) as Ids };
    },
  };
}

/** Counts all texts of a part, with the memory that each takes beside its characters. */
export class TextSize {
  characters = 0;

  add(value: string): void {
    this.characters += value.length + 32;
  }
}

/** Numbers in a growing array, which lies outside of the heap. */
class Growing<Numbers extends Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>> {
  length = 0;

  constructor(private held: Numbers) {}

  push(number: number): void {
    if (this.length === this.held.length) {
      const larger = new (this.held.constructor as new (length: number) => Numbers)(2 * this.length);
      larger.set(this.held);
      this.held = larger;
    }
    this.held[this.length++] = number;
  }

  raiseLast(): void {
    this.held[this.length - 1] = (this.held[this.length - 1] ?? 0) + 1;
  }

  finish(): Numbers {
    return this.held.slice(0, this.length) as Numbers;
  }
}

/** Collects whole numbers below 2^32. */
export const collectNumbers = () => new Growing(new Uint32Array(64));

export const collectFloats = () => new Growing(new Float64Array(64));

/** Collects a column of texts. The empty text is always value 0. */
export class TextCollector {
  constructor(private readonly size = new TextSize()) {}

  private readonly idsByValue = new Map<string, number>([["", 0]]);
  private readonly ids = collectNumbers();

  push(value: string | null | undefined): void {
    if (!value) {
      this.ids.push(0);
      return;
    }
    let id = this.idsByValue.get(value);
    if (id === undefined) {
      id = this.idsByValue.size;
      this.idsByValue.set(value, id);
      this.size.add(value);
    }
    this.ids.push(id);
  }

  finish(): TextColumn {
    return { values: [...this.idsByValue.keys()], ids: narrow(this.ids.finish(), this.idsByValue.size) };
  }
}

/** Whole numbers below a bound in the narrowest array. */
export function narrow(numbers: Uint32Array, bound: number): Ids {
  if (bound <= 256) return new Uint8Array(numbers);
  return bound <= 65_536 ? new Uint16Array(numbers) : numbers;
}

/** A part as stored: each block is read only where it is needed. */
export interface PartBlocks {
  readonly visits: Block;
  readonly pages: Block;
  readonly times: Block;
  readonly details: Block;
}

/** Blocks as read: those of `PartNeeds` may be missing. */
export interface ReadBlocks {
  readonly visits: Uint8Array;
  readonly pages: Uint8Array;
  readonly times: Uint8Array | null;
  readonly details: Uint8Array | null;
}

/** Writes a block after the other, with other work in between. @param part with times and details */
export async function writePart({ visits, events }: DayPart): Promise<PartBlocks> {
  const { count, visitor, firstEvent, views, bounce, duration, durationUs, dimensions } = visits;
  const isNew = new Uint8Array(count);
  const customs = new Uint32Array(count);
  let mostEvents = 0;
  for (let visit = 0; visit < count; visit++) {
    isNew[visit] = visit === 0 || visitor[visit] !== visitor[visit - 1] ? 1 : 0;
    const all = (firstEvent[visit + 1] ?? 0) - (firstEvent[visit] ?? 0);
    customs[visit] = all - (views[visit] ?? 0);
    mostEvents = Math.max(mostEvents, all);
  }
  const blocks = {
    visits: {
      isNew,
      views,
      customs: narrow(customs, mostEvents + 1),
      bounce,
      duration,
      durationUs: Uint32Array.of(durationUs),
      ...dimensions,
    },
    pages: { names: events.names, pages: events.pages },
    times: { times: events.times ?? new Uint32Array(0) },
    details: { ...events.details },
  };
  const written: Partial<Record<keyof PartBlocks, Block>> = {};
  for (const name of ["visits", "pages", "times", "details"] as const) {
    written[name] = writeBlock(blocks[name]);
    await nextTurn();
  }
  return written as PartBlocks;
}

/** Reads a part in slices of work. */
export async function readPart(blocks: ReadBlocks, work: Work): Promise<DayPart> {
  const block = readBlock(blocks.visits, work);
  const [isNew, views, customs] = [block.numbers("isNew"), block.numbers("views"), block.numbers("customs")];
  const count = isNew.length;
  const visitor = new Uint32Array(count);
  const firstEvent = new Uint32Array(count + 1);
  let visitors = 0;
  let events = 0;
  for (let visit = 0; visit < count; visit++) {
    visitors += isNew[visit] ?? 0;
    visitor[visit] = visitors - 1;
    firstEvent[visit] = events;
    events += (views[visit] ?? 0) + (customs[visit] ?? 0);
  }
  firstEvent[count] = events;
  const pages = readBlock(blocks.pages, work);
  return {
    visitors,
    visits: {
      count,
      visitor,
      firstEvent,
      views: views as Ids,
      bounce: block.numbers("bounce") as Uint8Array,
      duration: block.numbers("duration") as Uint32Array | Float64Array,
      durationUs: block.numbers("durationUs")[0] ?? 1,
      dimensions: await readTexts(block, visitDimensions),
    },
    events: {
      count: events,
      ...(await readTexts(pages, ["names", "pages"])),
      times: blocks.times ? (readBlock(blocks.times, work).numbers("times") as Uint32Array) : undefined,
      details: blocks.details ? await readTexts(readBlock(blocks.details, work), detailNames) : undefined,
    },
  };
}

async function readTexts<Name extends string>(block: BlockReader, names: readonly Name[]) {
  const columns: Partial<Record<Name, TextColumn>> = {};
  for (const name of names) columns[name] = await block.texts(name);
  return columns as Record<Name, TextColumn>;
}

/** Whether a part has all that a question needs. */
export function hasNeeds({ events }: DayPart, { times, details }: PartNeeds): boolean {
  return !(times && !events.times) && !(details && !events.details);
}

/** The bytes that a part takes in memory. Its texts count four times: the heap of the dashboard has less room than the process. */
export function sizeOf({ visits, events }: DayPart): number {
  const columns = [visits.visitor, visits.firstEvent, visits.views, visits.bounce, visits.duration, events.times];
  const texts = Object.values({ ...visits.dimensions, ...events.details, names: events.names, pages: events.pages });
  let bytes = 0;
  for (const column of columns) bytes += column?.byteLength ?? 0;
  for (const { ids, values } of texts) {
    bytes += ids.byteLength;
    for (const value of values) bytes += 4 * (2 * value.length + 32);
  }
  return bytes;
}
