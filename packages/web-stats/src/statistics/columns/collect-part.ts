import type pg from "pg";
import { listsPerVisit, visitColumnOf } from "../../lists/lists.js";
import { visitSql } from "../metrics.js";
import { eventSpan } from "../range.js";
import { type DayPart, detailColumns, detailNames, type PartNeeds, visitDimensions } from "./day-part.js";
import { collectFloats, collectNumbers, narrow, TextCollector, TextSize } from "./part-blocks.js";

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

export interface SiteDay {
  readonly siteId: string;
  readonly day: string;
}

/** A day's visits in the order of `visit_pkey`. */
const visitsSql = `
  SELECT visitor::text, first_us, last_us, ${visitSql.us}, ${visitSql.isBounce}, ${listsPerVisit.map(visitColumnOf).join(", ")}
  FROM visit WHERE site_id = $1 AND day = $2 AND ${visitSql.counts} ORDER BY visit.visitor, first_us`;

const dayMs = 86_400_000;

/** A day's events with a visitor, from a range of `event_pkey`. */
const eventsSql = ({ details }: PartNeeds) => `
  SELECT visitor::text, (extract(epoch FROM at - $4::timestamptz) * 1000000)::bigint, name, CASE WHEN type = 'pageview' THEN path END,
    ${Object.values(detailColumns)
      .map((column) => (details ? column : "NULL"))
      .join(", ")}
  FROM event
  WHERE site_id = $1 AND id >= $2 AND id < $3 AND at >= $4 AND at < $5 AND visitor IS NOT NULL
    AND type IN ('pageview', 'event')
  ORDER BY event.visitor, at, id`;

/** Enough to spread the cost of a round trip; rows have up to 16 KiB. */
const batchRows = 1_000;

/** Opens both feeds of a day. @param client in a transaction, whose snapshot they are of */
export async function openDay(client: pg.ClientBase, { siteId, day }: SiteDay, needs: PartNeeds) {
  return {
    visits: await openFeed<VisitRow>(client, "visits", visitsSql, [siteId, day]),
    events: await openFeed<EventRow>(client, "events", eventsSql(needs), [
      siteId,
      ...eventSpan(Date.parse(day), dayMs),
    ]),
  };
}

async function openFeed<Row extends unknown[]>(client: pg.ClientBase, name: string, sql: string, values: unknown[]) {
  await client.query(`DECLARE day_${name} NO SCROLL CURSOR FOR ${sql}`, values);
  const fetch = async () => {
    const text = `FETCH ${batchRows} FROM day_${name}`;
    const { rows } = await client.query<Row>({ text, rowMode: "array" });
    return rows;
  };
  return new RowFeed<Row>(fetch, batchRows);
}
