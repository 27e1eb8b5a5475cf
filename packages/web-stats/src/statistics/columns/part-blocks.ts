import { Buffer } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { deserialize, serialize } from "node:v8";
import type { Work } from "../work.js";
import type { DayPart, Ids, PartNeeds, TextColumn } from "./day-part.js";

/** A column of texts as stored. Where all values are unknown, the number of rows stands for the ids. */
interface StoredColumn {
  readonly ids: Ids | number;
  /** JSON arrays of values. */
  readonly texts: readonly Buffer[];
}

type StoredColumns<Name extends string> = Readonly<Record<Name, StoredColumn>>;

/** Characters of texts that are read in one piece, which takes 2 ms at most. */
const chunkCharacters = 65_536;

function packColumns<Name extends string>(columns: Readonly<Record<Name, TextColumn>>): StoredColumns<Name> {
  const packed = Object.entries<TextColumn>(columns).map(([name, { values, ids }]) => {
    return [name, { ids: values.length > 1 ? ids : ids.length, texts: chunksOf(values) }];
  });
  return Object.fromEntries(packed) as StoredColumns<Name>;
}

function chunksOf(values: readonly string[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0, end = 0; start < values.length; start = end) {
    for (let left = chunkCharacters; end < values.length && left > 0; end++) left -= values[end]?.length ?? 0;
    chunks.push(Buffer.from(JSON.stringify(values.slice(start, end))));
  }
  return chunks;
}

async function unpackColumns<Name extends string>(stored: StoredColumns<Name>, work: Work) {
  const columns: Record<string, TextColumn> = {};
  for (const [name, { ids, texts }] of Object.entries<StoredColumn>(stored)) {
    const values: string[] = [];
    for (const chunk of texts) {
      for (const value of JSON.parse(chunk.toString()) as string[]) values.push(value);
      if (work.spend(chunk.length)) await work.rest();
    }
    columns[name] = { values, ids: typeof ids === "number" ? new Uint8Array(ids) : ids };
  }
  return columns as Record<Name, TextColumn>;
}

/** The characters of all different texts of a part, and 32 for each: the memory that it takes beside them. */
export interface TextSize {
  characters: number;
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

export const collectNumbers = () => new Growing(new Uint32Array(64));

export const collectFloats = () => new Growing(new Float64Array(64));

/** Collects a column of texts. The empty text is always value 0. */
export class TextCollector {
  constructor(private readonly size: TextSize = { characters: 0 }) {}

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
      this.size.characters += value.length + 32;
    }
    this.ids.push(id);
  }

  finish(): TextColumn {
    return { values: [...this.idsByValue.keys()], ids: narrow(this.ids.finish(), this.idsByValue.size) };
  }
}

export function narrow(numbers: Uint32Array, bound: number): Ids {
  if (bound <= 256) return new Uint8Array(numbers);
  return bound <= 65_536 ? new Uint16Array(numbers) : numbers;
}

export const blockNames = ["visits", "pages", "times", "details"] as const;

/** A part as stored, in V8's form of values: each block is read only where it is needed. */
export type PartBlocks = Readonly<Record<(typeof blockNames)[number], Buffer>>;

/** Blocks as read: those of `PartNeeds` may be missing. */
export type ReadBlocks = Pick<PartBlocks, "visits" | "pages"> & {
  readonly [Name in "times" | "details"]: Buffer | null;
};

const toStored = {
  visits: ({ visitors, visits }: DayPart) => ({ visitors, ...visits, dimensions: packColumns(visits.dimensions) }),
  pages: ({ events: { names, pages } }: DayPart) => packColumns({ names, pages }),
  times: ({ events }: DayPart) => events.times,
  details: ({ events }: DayPart) => events.details && packColumns(events.details),
};

type Stored<Name extends keyof PartBlocks> = NonNullable<ReturnType<(typeof toStored)[Name]>>;

/** Writes a block after the other, with other work in between. @param part with times and details */
export async function writePart(part: DayPart): Promise<PartBlocks> {
  const written: Partial<Record<keyof PartBlocks, Buffer>> = {};
  for (const name of blockNames) {
    written[name] = serialize(toStored[name](part));
    await nextTurn();
  }
  return written as PartBlocks;
}

export async function readPart({ visits, pages, times, details }: ReadBlocks, work: Work): Promise<DayPart> {
  const { visitors, ...columns } = readBlock<"visits">(visits);
  return {
    visitors,
    visits: { ...columns, dimensions: await unpackColumns(columns.dimensions, work) },
    events: {
      count: columns.firstEvent.at(-1) ?? 0,
      ...(await unpackColumns(readBlock<"pages">(pages), work)),
      times: times ? readBlock<"times">(times) : undefined,
      details: details ? await unpackColumns(readBlock<"details">(details), work) : undefined,
    },
  };
}

/** Of a copy, which arrays share: the driver's buffers hold other blocks, too. */
function readBlock<Name extends keyof PartBlocks>(block: Buffer): Stored<Name> {
  return deserialize(Buffer.from(block)) as Stored<Name>;
}

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
