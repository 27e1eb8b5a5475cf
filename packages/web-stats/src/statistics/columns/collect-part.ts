import { collectFloats, collectNumbers, narrow, TextCollector, TextSize } from "./block.js";
import { type DayPart, detailNames, type PartNeeds, visitDimensions } from "./day-part.js";

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

/** A part ends with the visitor whose events, or the length of whose different texts and 32 for each, reach these numbers. */
const partBounds = { events: 200_000, characters: 2_000_000 } as const;

/**
 * Of a visitor's day: events beyond the number or the characters of their pages and names are left out, and details beyond their
 * characters. They would be of a program, and a visitor stays in one part.
 */
export const visitorBounds = { events: 50_000, characters: 1_000_000 } as const;

/** Collects the visits and events of a part, in the order of its columns. */
export class PartCollector {
  events = 0;
  private readonly size = new TextSize();
  private readonly detailSize = new TextSize();
  /** Where the last visitor has no more room. */
  private ends = { events: 0, size: 0, details: 0 };
  private visitors = 0;
  private lastVisitor: string | undefined;
  private readonly visitor = collectNumbers();
  private readonly firstEvent = collectNumbers();
  private readonly views = collectNumbers();
  private readonly bounce = collectNumbers();
  private readonly durations = collectFloats();
  private readonly dimensions = visitDimensions.map(() => new TextCollector(this.size));
  private readonly names = new TextCollector(this.size);
  private readonly pages = new TextCollector(this.size);
  private readonly times = collectNumbers();
  private readonly details = detailNames.map(() => new TextCollector(this.detailSize));

  /** @param needs without `details` the part has none */
  constructor(private readonly needs: Pick<PartNeeds, "details"> = { details: true }) {}

  /** Of all different texts, and 32 for each. */
  get characters(): number {
    return this.size.characters + this.detailSize.characters;
  }

  addVisit(row: VisitRow): void {
    const [visitor, , , durationUs, isBounce] = row;
    if (visitor !== this.lastVisitor) this.beginVisitor();
    this.lastVisitor = visitor;
    this.visitor.push(this.visitors - 1);
    this.firstEvent.push(this.events);
    this.views.push(0);
    this.bounce.push(isBounce ? 1 : 0);
    this.durations.push(durationUs);
    for (let at = 0; at < this.dimensions.length; at++) this.dimensions[at]?.push(row[5 + at] as string | null);
  }

  private beginVisitor(): void {
    this.visitors++;
    const { events, characters } = visitorBounds;
    const size = this.size.characters + characters;
    this.ends = { events: this.events + events, size, details: this.detailSize.characters + characters };
  }

  /** Adds an event of the last visit where the visitor has room for it. */
  addEvent(row: EventRow): void {
    const [, us, name, path] = row;
    if (this.events >= this.ends.events || this.size.characters >= this.ends.size) return;
    const withDetails = this.detailSize.characters < this.ends.details;
    if (name === null) this.views.raiseLast();
    this.events++;
    this.names.push(name);
    this.pages.push(name === null ? path : null);
    this.times.push(Math.floor(us / usPerMs));
    if (!this.needs.details) return;
    for (let at = 0; at < this.details.length; at++)
      this.details[at]?.push(withDetails ? (row[4 + at] as string | null) : null);
  }

  finish(): DayPart {
    const { visitors, events } = this;
    this.firstEvent.push(events);
    const [views, durations] = [this.views.finish(), this.durations.finish()];
    const isWholeMs = durations.every((us) => us % usPerMs === 0);
    const dimensions = this.dimensions.map((column, index) => [visitDimensions[index], column.finish()] as const);
    const details = this.details.map((column, index) => [detailNames[index], column.finish()] as const);
    return {
      visitors,
      visits: {
        count: this.visitor.length,
        visitor: this.visitor.finish(),
        firstEvent: this.firstEvent.finish(),
        views: narrow(views, 1 + views.reduce((most, count) => Math.max(most, count), 0)),
        bounce: new Uint8Array(this.bounce.finish()),
        // A day's milliseconds fit into 32 bits; its microseconds do not.
        duration: isWholeMs ? new Uint32Array(durations.map((us) => us / usPerMs)) : durations,
        durationUs: isWholeMs ? usPerMs : 1,
        dimensions: Object.fromEntries(dimensions) as DayPart["visits"]["dimensions"],
      },
      events: {
        count: events,
        names: this.names.finish(),
        pages: this.pages.finish(),
        times: this.times.finish(),
        details: this.needs.details
          ? (Object.fromEntries(details) as NonNullable<DayPart["events"]["details"]>)
          : undefined,
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

/**
 * Makes the parts of a day, one at least. An event that no visit holds, as before visits were counted, is left out.
 * @param visits in order of visitor and beginning
 * @param events in order of visitor, moment and id
 */
export async function* collectParts(
  visits: RowFeed<VisitRow>,
  events: RowFeed<EventRow>,
  { maxEvents = partBounds.events, needs }: { maxEvents?: number; needs?: PartNeeds } = {},
): AsyncGenerator<DayPart> {
  let part = new PartCollector(needs);
  let last: string | undefined;
  const isFull = () => part.events >= maxEvents || part.characters >= partBounds.characters;
  for (;;) {
    if (visits.isEmpty) await visits.fill();
    const visit = visits.row;
    if (!visit) break;
    const [visitor] = visit;
    if (visitor !== last && isFull()) {
      yield part.finish();
      part = new PartCollector(needs);
    }
    last = visitor;
    part.addVisit(visit);
    for (;;) {
      if (events.isEmpty) await events.fill();
      const event = events.row;
      if (!event || isAfter(event, visit)) break;
      if (event[0] === visitor && event[1] >= visit[1]) part.addEvent(event);
      events.advance();
    }
    visits.advance();
  }
  yield part.finish();
}

function isAfter([visitor, us]: EventRow, [other, , lastUs]: VisitRow): boolean {
  return visitor === other ? us > lastUs : BigInt(visitor) > BigInt(other);
}
