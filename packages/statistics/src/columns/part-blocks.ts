import { type Block, narrow, readBlock, writeBlock } from "./block.js";
import {
  type DayPart,
  detailNames,
  type Ids,
  type PartNeeds,
  type VisitDimension,
  visitDimensions,
} from "./day-part.js";

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

/** @param part with times and details */
export function writePart({ visits, events }: DayPart): PartBlocks {
  const { count, visitor, firstEvent, views, bounce, duration, durationUs, dimensions } = visits;
  const isNew = new Uint8Array(count);
  const customs: number[] = [];
  let mostEvents = 0;
  for (let visit = 0; visit < count; visit++) {
    isNew[visit] = visit === 0 || visitor[visit] !== visitor[visit - 1] ? 1 : 0;
    const all = (firstEvent[visit + 1] ?? 0) - (firstEvent[visit] ?? 0);
    customs.push(all - (views[visit] ?? 0));
    mostEvents = Math.max(mostEvents, all);
  }
  return {
    visits: writeBlock({
      isNew,
      views,
      customs: narrow(customs, mostEvents + 1),
      bounce,
      duration,
      durationUs: Uint32Array.of(durationUs),
      ...dimensions,
    }),
    pages: writeBlock({ names: events.names, pages: events.pages }),
    times: writeBlock({ times: events.times ?? new Uint32Array(0) }),
    details: writeBlock({ ...events.details }),
  };
}

export function readPart(blocks: ReadBlocks): DayPart {
  const block = readBlock(blocks.visits);
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
  const pages = readBlock(blocks.pages);
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
      dimensions: Object.fromEntries(visitDimensions.map((name) => [name, block.texts(name)])) as Record<
        VisitDimension,
        ReturnType<typeof block.texts>
      >,
    },
    events: {
      count: events,
      names: pages.texts("names"),
      pages: pages.texts("pages"),
      times: blocks.times ? (readBlock(blocks.times).numbers("times") as Uint32Array) : undefined,
      details: blocks.details ? readDetails(blocks.details) : undefined,
    },
  };
}

function readDetails(stored: Uint8Array): NonNullable<DayPart["events"]["details"]> {
  const block = readBlock(stored);
  return Object.fromEntries(detailNames.map((name) => [name, block.texts(name)])) as NonNullable<
    DayPart["events"]["details"]
  >;
}

/** Whether a part has all that a question needs. */
export function hasNeeds({ events }: DayPart, { times, details }: PartNeeds): boolean {
  return !(times && !events.times) && !(details && !events.details);
}

/** The bytes that a part takes in memory, its texts as two bytes a character. */
export function sizeOf({ visits, events }: DayPart): number {
  const texts = [
    ...Object.values(visits.dimensions),
    events.names,
    events.pages,
    ...Object.values(events.details ?? {}),
  ];
  const columns = [visits.visitor, visits.firstEvent, visits.views, visits.bounce, visits.duration, events.times];
  let bytes = 0;
  for (const column of columns) bytes += column?.byteLength ?? 0;
  for (const { ids, values } of texts) {
    bytes += ids.byteLength;
    for (const value of values) bytes += 2 * value.length + 32;
  }
  return bytes;
}
