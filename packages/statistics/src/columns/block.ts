import { Buffer } from "node:buffer";
import type { Ids, TextColumn } from "./day-part.js";

/**
 * Columns as bytes: the length of a header (32 bits), the header as JSON, then each array at a multiple of 8 bytes, in the byte
 * order of the machine, which is little-endian on every platform of Node but one.
 */
export type Block = Buffer<ArrayBuffer>;

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

const arrays = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array } as const;

type Kind = keyof typeof arrays;

interface Entry {
  /** Where the array begins after the header; -1 for an array of zeros, which takes no bytes. */
  at: number;
  kind: Kind;
  length: number;
  values?: readonly string[];
}

const align = (bytes: number) => Math.ceil(bytes / 8) * 8;

function kindOf(numbers: Numbers): Kind {
  if (numbers instanceof Float64Array) return "f8";
  return numbers instanceof Uint32Array ? "u4" : numbers instanceof Uint16Array ? "u2" : "u1";
}

/** Writes columns by name. An array of zeros alone takes no bytes. */
export function writeBlock(columns: Readonly<Record<string, TextColumn | Numbers>>): Block {
  const entries: Record<string, Entry> = {};
  const parts: [at: number, numbers: Numbers][] = [];
  let size = 0;
  for (const [name, column] of Object.entries(columns)) {
    const isText = "values" in column && "ids" in column;
    const numbers: Numbers = isText ? column.ids : column;
    const isEmpty = numbers.every((number) => number === 0);
    const { length } = numbers;
    entries[name] = {
      at: isEmpty ? -1 : size,
      kind: kindOf(numbers),
      length,
      ...(isText && { values: column.values }),
    };
    if (isEmpty) continue;
    parts.push([size, numbers]);
    size += align(numbers.byteLength);
  }
  const header = Buffer.from(JSON.stringify(entries));
  const start = align(4 + header.length);
  const block = Buffer.alloc(start + size);
  block.writeUInt32LE(header.length, 0);
  block.set(header, 4);
  for (const [at, { buffer, byteOffset, byteLength }] of parts) {
    block.set(new Uint8Array(buffer, byteOffset, byteLength), start + at);
  }
  return block;
}

/** The columns of a block. Arrays share the memory of a copy of it. */
export interface BlockReader {
  numbers(name: string): Numbers;
  texts(name: string): TextColumn;
}

export function readBlock(stored: Uint8Array): BlockReader {
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
    texts(name) {
      const entry = find(name);
      return { values: entry.values ?? [], ids: numbersOf(entry) as Ids };
    },
  };
}

/** Collects a column of texts. The empty text is always value 0. */
export class TextCollector {
  /** @param size is told the length of each new value */
  constructor(private readonly size = { characters: 0 }) {}

  private readonly idsByValue = new Map<string, number>([["", 0]]);
  private readonly ids: number[] = [];

  push(value: string | null | undefined): void {
    if (!value) {
      this.ids.push(0);
      return;
    }
    let id = this.idsByValue.get(value);
    if (id === undefined) {
      id = this.idsByValue.size;
      this.idsByValue.set(value, id);
      this.size.characters += value.length;
    }
    this.ids.push(id);
  }

  finish(): TextColumn {
    return { values: [...this.idsByValue.keys()], ids: narrow(this.ids, this.idsByValue.size) };
  }
}

/** Whole numbers below a bound in the narrowest array. */
export function narrow(numbers: readonly number[], bound: number): Ids {
  if (bound <= 256) return Uint8Array.from(numbers);
  return bound <= 65_536 ? Uint16Array.from(numbers) : Uint32Array.from(numbers);
}
