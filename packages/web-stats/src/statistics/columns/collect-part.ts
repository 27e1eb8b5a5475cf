import type pg from "pg";
import { listsPerVisit, visitColumnOf } from "../../lists/lists.js";
import { visitSql } from "../metrics.js";
import { eventSpan } from "../range.js";
import { type DayPart, detailColumns, detailNames, type PartNeeds, visitDimensions } from "./day-part.js";
import { collectFloats, collectNumbers, narrow, TextCollector } from "./part-blocks.js";

/**
 * A visit up to its last page view or custom event, with its dimensions in the order of `visitDimensions`; or, without `lastUs`,
 * such an event with its name (null for a page view), path and details in the order of `detailNames`.
 */
export type DayRow = [
  visitor: string,
  us: number,
  lastUs: number | null,
  durationUs: number | null,
  isBounce: boolean | null,
  ...texts: (string | null)[],
];

/** Where the texts of a row begin, and an event's details. */
const [textsAt, detailsAt] = [5, 7];

const usPerMs = 1_000;

/** A part ends with the visitor whose events, or the length of whose different texts and 32 for each, reach these numbers. */
const partBounds = { events: 200_000, characters: 2_000_000 } as const;

/**
 * Of a visitor's day: events beyond the number or the characters of their pages and names are left out, and details beyond their
 * characters. They would be of a program, and a visitor stays in one part.
 */
export const visitorBounds = { events: 50_000, characters: 1_000_000 } as const;

export class PartCollector {
  events = 0;
  private readonly size = { characters: 0 };
  private readonly detailSize = { characters: 0 };
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

  constructor(private readonly needs: Pick<PartNeeds, "details"> = { details: true }) {}

  /** Of all different texts, and 32 for each. */
  get characters(): number {
    return this.size.characters + this.detailSize.characters;
  }

  addVisit(row: DayRow): void {
    const [visitor, , , durationUs, isBounce] = row;
    if (visitor !== this.lastVisitor) this.beginVisitor();
    this.lastVisitor = visitor;
    this.visitor.push(this.visitors - 1);
    this.firstEvent.push(this.events);
    this.views.push(0);
    this.bounce.push(isBounce ? 1 : 0);
    this.durations.push(durationUs ?? 0);
    for (let at = 0; at < this.dimensions.length; at++) this.dimensions[at]?.push(row[textsAt + at] as string | null);
  }

  private beginVisitor(): void {
    this.visitors++;
    const { events, characters } = visitorBounds;
    const size = this.size.characters + characters;
    this.ends = { events: this.events + events, size, details: this.detailSize.characters + characters };
  }

  /** Adds an event of the last visit where the visitor has room for it. */
  addEvent(row: DayRow): void {
    const [, us, , , , name = null, path] = row;
    if (this.events >= this.ends.events || this.size.characters >= this.ends.size) return;
    const withDetails = this.detailSize.characters < this.ends.details;
    if (name === null) this.views.raiseLast();
    this.events++;
    this.names.push(name);
    this.pages.push(name === null ? path : null);
    this.times.push(Math.floor(us / usPerMs));
    if (!this.needs.details) return;
    for (let at = 0; at < this.details.length; at++)
      this.details[at]?.push(withDetails ? (row[detailsAt + at] as string | null) : null);
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

/**
 * Makes the parts of a day, one at least. An event that no visit holds, as before visits were counted, is left out.
 * @param batches of rows in order of visitor and moment, a visit before its events, these in order of id
 */
export async function* collectParts(
  batches: AsyncIterable<readonly DayRow[]>,
  { maxEvents = partBounds.events, needs }: { maxEvents?: number; needs?: PartNeeds } = {},
): AsyncGenerator<DayPart> {
  let part = new PartCollector(needs);
  let [visitor, end] = ["", 0];
  for await (const rows of batches) {
    for (const row of rows) {
      const [of, us, lastUs] = row;
      if (lastUs === null) {
        if (of === visitor && us <= end) part.addEvent(row);
        continue;
      }
      if (of !== visitor && (part.events >= maxEvents || part.characters >= partBounds.characters)) {
        yield part.finish();
        part = new PartCollector(needs);
      }
      [visitor, end] = [of, lastUs];
      part.addVisit(row);
    }
  }
  yield part.finish();
}

export interface SiteDay {
  readonly siteId: string;
  readonly day: string;
}

/** Rows of one kind have fewer texts than those of the other. */
const textNames = Array.from(
  { length: Math.max(visitDimensions.length, 2 + detailNames.length) },
  (_, at) => `text_${at}`,
);

const textsSql = (columns: readonly string[]) =>
  textNames.map((name, at) => `${columns[at] ?? "NULL"} AS ${name}`).join(", ");

/** A day's visits from a range of `visit_pkey`, and its events with a visitor from one of `event_pkey`; perhaps of some visitors ($7). */
const rowsSql = ({ details }: PartNeeds, ofSome: string) => `
  SELECT visitor::text, us, last_us, duration_us, is_bounce, ${textNames.join(", ")}
  FROM (
    SELECT visitor, first_us AS us, last_us, ${visitSql.us} AS duration_us, ${visitSql.isBounce} AS is_bounce,
      NULL::uuid AS id, ${textsSql(listsPerVisit.map(visitColumnOf))}
    FROM visit WHERE site_id = $1 AND day = $2 AND ${visitSql.counts} ${ofSome}
    UNION ALL
    SELECT visitor, (extract(epoch FROM at - $5::timestamptz) * 1000000)::bigint, NULL, NULL, NULL, id,
      ${textsSql(["name", "CASE WHEN type = 'pageview' THEN path END", ...(details ? Object.values(detailColumns) : [])])}
    FROM event
    WHERE site_id = $1 AND id >= $3 AND id < $4 AND at >= $5 AND at < $6 AND visitor IS NOT NULL
      AND type IN ('pageview', 'event') ${ofSome}
  ) AS stored
  ORDER BY stored.visitor, us, last_us IS NULL, id`;

/** @param visitors of these alone */
export function readDayRows(
  client: pg.ClientBase,
  { siteId, day }: SiteDay,
  needs: PartNeeds,
  visitors?: readonly string[],
) {
  const values = [siteId, day, ...eventSpan(day), ...(visitors ? [visitors] : [])];
  const ofSome = visitors ? "AND visitor IN (SELECT unnest($7::bigint[]))" : "";
  return fetchBatches<DayRow>(client, { text: rowsSql(needs, ofSome), values });
}

/** Enough to spread the cost of a round trip; rows have up to 16 KiB. */
const batchRows = 1_000;

/** Reads the rows of a statement by a cursor. @param client in a transaction */
export async function* fetchBatches<Row extends unknown[]>(
  client: pg.ClientBase,
  { text, values }: { text: string; values: readonly unknown[] },
): AsyncGenerator<Row[]> {
  await client.query(`DECLARE batches NO SCROLL CURSOR FOR ${text}`, [...values]);
  for (;;) {
    const { rows } = await client.query<Row>({ text: `FETCH ${batchRows} FROM batches`, rowMode: "array" });
    yield rows;
    if (rows.length < batchRows) return;
  }
}
