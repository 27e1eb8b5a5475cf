import { narrow, TextCollector } from "./block.js";
import { type DayPart, detailNames, type VisitDimension, visitDimensions } from "./day-part.js";

/** A row of `visit`; the dimensions are in the order of `visitDimensions`. */
export type VisitRow = [
  visitor: string,
  firstUs: number,
  /** Of its last page view or custom event. */
  lastUs: number,
  durationUs: number,
  isBounce: boolean,
  ...dimensions: (string | null)[],
];

/** A page view or custom event with a visitor; `name` is null for a page view. */
export type EventRow = [
  visitor: string,
  us: number,
  name: string | null,
  path: string | null,
  ...details: (string | null)[],
];

const usPerMs = 1_000;

/** Collects the visits and events of a part, in the order of its columns. */
export class PartCollector {
  events = 0;
  /** Of all texts. */
  readonly size = { characters: 0 };
  private visitors = 0;
  private lastVisitor: string | undefined;
  private readonly visitor: number[] = [];
  private readonly firstEvent: number[] = [];
  private readonly views: number[] = [];
  private readonly bounce: number[] = [];
  private readonly durations: number[] = [];
  private readonly dimensions = visitDimensions.map(() => new TextCollector(this.size));
  private readonly names = new TextCollector(this.size);
  private readonly pages = new TextCollector(this.size);
  private readonly times: number[] = [];
  private readonly details = detailNames.map(() => new TextCollector(this.size));

  addVisit(row: VisitRow): void {
    const [visitor, , , durationUs, isBounce] = row;
    if (visitor !== this.lastVisitor) this.visitors++;
    this.lastVisitor = visitor;
    this.visitor.push(this.visitors - 1);
    this.firstEvent.push(this.events);
    this.views.push(0);
    this.bounce.push(isBounce ? 1 : 0);
    this.durations.push(durationUs);
    for (let at = 0; at < this.dimensions.length; at++) this.dimensions[at]?.push(row[5 + at] as string | null);
  }

  /** Adds an event of the last visit. */
  addEvent(row: EventRow): void {
    const [, us, name, path] = row;
    const visit = this.views.length - 1;
    if (name === null) this.views[visit] = (this.views[visit] ?? 0) + 1;
    this.events++;
    this.names.push(name);
    this.pages.push(name === null ? path : null);
    this.times.push(Math.floor(us / usPerMs));
    for (let at = 0; at < this.details.length; at++) this.details[at]?.push(row[4 + at] as string | null);
  }

  finish(): DayPart {
    const { visitors, events, durations } = this;
    const isWholeMs = durations.every((us) => us % usPerMs === 0);
    const dimensions = this.dimensions.map((column, index) => [visitDimensions[index], column.finish()] as const);
    const details = this.details.map((column, index) => [detailNames[index], column.finish()] as const);
    return {
      visitors,
      visits: {
        count: this.visitor.length,
        visitor: Uint32Array.from(this.visitor),
        firstEvent: Uint32Array.from([...this.firstEvent, events]),
        views: narrow(this.views, 1 + this.views.reduce((most, views) => Math.max(most, views), 0)),
        bounce: Uint8Array.from(this.bounce),
        // A day's milliseconds fit into 32 bits; its microseconds do not.
        duration: isWholeMs ? Uint32Array.from(durations, (us) => us / usPerMs) : Float64Array.from(durations),
        durationUs: isWholeMs ? usPerMs : 1,
        dimensions: Object.fromEntries(dimensions) as Record<VisitDimension, (typeof dimensions)[0][1]>,
      },
      events: {
        count: events,
        names: this.names.finish(),
        pages: this.pages.finish(),
        times: Uint32Array.from(this.times),
        details: Object.fromEntries(details) as NonNullable<DayPart["events"]["details"]>,
      },
    };
  }
}

/** Rows that come in batches, one after the other. */
export class RowFeed<Row> {
  private batch: readonly Row[] = [];
  private at = 0;
  private isEnded = false;

  /** @param fetch answers the next rows; fewer than asked for end the feed */
  constructor(
    private readonly fetch: () => Promise<readonly Row[]>,
    private readonly batchRows: number,
  ) {}

  get row(): Row | undefined {
    return this.batch[this.at];
  }

  /** Whether `fill` must come before `row`. */
  get isEmpty(): boolean {
    return this.at === this.batch.length && !this.isEnded;
  }

  async fill(): Promise<void> {
    this.batch = await this.fetch();
    this.at = 0;
    this.isEnded = this.batch.length < this.batchRows;
  }

  advance(): void {
    this.at++;
  }
}

/** A part ends with the visitor whose events, or the length of whose texts, reach these numbers. */
const partBounds = { events: 200_000, characters: 8_000_000 } as const;

/** Of a visitor's day; further ones are left out. They would be of a program, and a visitor stays in one part. */
export const maxVisitorEvents = 50_000;

/**
 * Makes the parts of a day, one at least. An event that no visit holds, as before visits were counted, is left out.
 * @param visits in order of visitor and beginning
 * @param events in order of visitor, moment and id
 */
export async function* collectParts(
  visits: RowFeed<VisitRow>,
  events: RowFeed<EventRow>,
  maxEvents: number = partBounds.events,
): AsyncGenerator<DayPart> {
  let part = new PartCollector();
  let last: string | undefined;
  let ofVisitor = 0;
  for (;;) {
    if (visits.isEmpty) await visits.fill();
    const visit = visits.row;
    if (!visit) break;
    const [visitor] = visit;
    if (visitor !== last) ofVisitor = 0;
    if (visitor !== last && (part.events >= maxEvents || part.size.characters >= partBounds.characters)) {
      yield part.finish();
      part = new PartCollector();
    }
    last = visitor;
    part.addVisit(visit);
    for (;;) {
      if (events.isEmpty) await events.fill();
      const event = events.row;
      if (!event || isAfter(event, visit)) break;
      if (event[0] === visitor && event[1] >= visit[1] && ofVisitor++ < maxVisitorEvents) part.addEvent(event);
      events.advance();
    }
    visits.advance();
  }
  yield part.finish();
}

function isAfter([visitor, us]: EventRow, [other, , lastUs]: VisitRow): boolean {
  return visitor === other ? us > lastUs : BigInt(visitor) > BigInt(other);
}
