import { setImmediate as nextTurn } from "node:timers/promises";
import type { Work } from "../work.js";
import { type Block, type BlockReader, narrow, readBlock, writeBlock } from "./block.js";
import { type DayPart, detailNames, type Ids, type PartNeeds, type TextColumn, visitDimensions } from "./day-part.js";

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
