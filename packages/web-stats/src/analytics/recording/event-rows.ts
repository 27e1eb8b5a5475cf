import { listColumns } from "../../lists/lists.js";
import { RowWriter, writeUuid } from "./copy-rows.js";
import type { SiteEvent } from "./site-event.js";

/** Columns that each event has for itself, in the order of `add`. */
const ownColumns: readonly string[] = [
  ...["site_id", "id", "at", "type", "visitor", "path", "name", "props", "host", "country"],
  ...["is_interactive", "engaged_ms", "scroll_depth"],
];

/** Columns that many events have the same values of. */
const originColumns = [...new Set(["referrer", ...listColumns])].filter((column) => !ownColumns.includes(column));

/** The columns of a row; those of revenue keep their defaults. */
export const eventRowColumns: readonly string[] = [...ownColumns, ...originColumns];

/** Where a row has its id: after the number of columns, the site, and the id's length. */
const idOffset = 2 + 20 + 4;

type OwnMember =
  | "id"
  | "at"
  | "type"
  | "visitor"
  | "path"
  | "name"
  | "host"
  | "country"
  | "isInteractive"
  | "engagement";

/** The members of an event that are in its own columns, with its properties as JSON. */
export type EventRow = Pick<SiteEvent, OwnMember> & { readonly props: string | null };

/** Writes events of one site as rows for `copyBytes`. */
export class EventRows {
  private readonly writer: RowWriter;
  private readonly origins: Uint8Array[] = [];
  private readonly ends: number[] = [];

  /** @param size bytes to expect */
  constructor(
    private readonly siteId: string,
    size: number,
  ) {
    this.writer = new RowWriter(size);
  }

  /** Adds the values of the other columns, for rows to name by their place. */
  addOrigin(origin: Readonly<Record<string, unknown>>): void {
    const { writer } = this;
    const start = writer.length;
    for (const column of originColumns) addText(writer, origin[column] as string | null);
    this.origins.push(writer.cut(start));
  }

  add(row: EventRow, origin: number): void {
    const { writer } = this;
    const { engagement } = row;
    writer.startRow(eventRowColumns.length);
    writer.addUuid(this.siteId);
    writer.addUuid(row.id);
    writer.addTimestamp(row.at);
    writer.addText(row.type);
    if (row.visitor === null) writer.addNull();
    else writer.addBigint(row.visitor);
    addText(writer, row.path);
    addText(writer, row.name);
    addText(writer, row.props);
    addText(writer, row.host);
    addText(writer, row.country);
    writer.addBoolean(row.isInteractive);
    const { engagedMs = null, scrollDepth = null } = engagement ?? {};
    if (engagedMs === null) writer.addNull();
    else writer.addInt(engagedMs);
    if (scrollDepth === null) writer.addNull();
    else writer.addSmallint(scrollDepth);
    writer.addBytes(this.origins[origin] ?? new Uint8Array());
    this.ends.push(writer.length);
  }

  /** Gives a row another id. */
  rename(index: number, id: string): void {
    writeUuid(this.writer.bytes, (this.ends[index - 1] ?? 0) + idOffset, id);
  }

  /** @returns the rows, and where each of them ends */
  finish(): { bytes: Uint8Array; ends: Uint32Array } {
    const { bytes, length } = this.writer;
    return { bytes: bytes.subarray(0, length), ends: Uint32Array.from(this.ends) };
  }
}

function addText(writer: RowWriter, text: string | null | undefined): void {
  if (text === null || text === undefined) writer.addNull();
  else writer.addText(text);
}
