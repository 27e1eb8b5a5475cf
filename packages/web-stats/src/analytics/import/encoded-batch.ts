import { Buffer } from "node:buffer";
import type { Classification } from "../attribution/source-classifier.js";
import type { UserAgent } from "../attribution/user-agent.js";
import type { WrittenEvents } from "../recording/record-events.query.js";
import { eventTypes, type SiteEvent } from "../recording/site-event.js";
import type { Derived } from "./import-line.schema.js";
import { endLength } from "./line-id.js";
import type { EncodedMachines } from "./machine-lines.js";

export type Origin = Readonly<Classification & UserAgent & Partial<Derived>>;

type Rare = Pick<SiteEvent, "revenue" | "isInteractive" | "engagement">;
const usual: Rare = { revenue: null, isInteractive: true, engagement: null };

/** Numbers of an event: its type, then places of `texts` (visitor, path, host, country, name, properties as JSON) and of `origins`. */
export const numbersPerEvent = 8;
export const noText = -1;
export const [idLength, atLength] = [36, 27];

/** Events of lines in a form that moves between threads. */
export interface EncodedBatch {
  /** One after the other, as texts. */
  readonly ids: Uint8Array;
  /** The ends of the ids that former releases gave the events; those of the ids where they gave the same. */
  readonly formerEnds: Uint8Array;
  readonly ats: Uint8Array;
  readonly numbers: Int32Array;
  readonly texts: readonly string[];
  readonly origins: readonly Origin[];
  readonly rare: ReadonlyMap<number, Rare>;
  /** The events as rows for COPY, and where each of them ends. */
  readonly rows: Uint8Array;
  readonly rowEnds: Uint32Array;
  /** Of each event's line in the input, from 1. */
  readonly lines: Float64Array;
  readonly early: readonly number[];
  readonly machines: EncodedMachines;
}

export interface Batch {
  readonly events: readonly SiteEvent[];
  readonly lines: Float64Array;
  readonly early: readonly number[];
  readonly machines: EncodedMachines;
  readonly written: WrittenEvents;
}

export function decodeBatch(siteId: string, encoded: EncodedBatch): Batch {
  const { numbers, texts, origins, rare, lines, early, machines } = encoded;
  const [ids, formerEnds, ats] = [encoded.ids, encoded.formerEnds, encoded.ats].map(asciiOf) as [
    string,
    string,
    string,
  ];
  const textAt = (index: number) => texts[numbers[index] ?? noText] ?? null;
  const events: SiteEvent[] = [];
  const places = new Map<SiteEvent, number>();
  for (let place = 0, first = 0; place < lines.length; place++, first += numbersPerEvent) {
    const { revenue, isInteractive, engagement } = rare.get(place) ?? usual;
    const props = textAt(first + 6);
    // Spreads come last: V8 makes such an object ten times faster.
    const event: SiteEvent = {
      siteId,
      id: ids.slice(place * idLength, (place + 1) * idLength),
      at: ats.slice(place * atLength, (place + 1) * atLength),
      type: eventTypes[numbers[first] ?? 0] ?? "pageview",
      visitor: textAt(first + 1),
      path: textAt(first + 2),
      host: textAt(first + 3),
      country: textAt(first + 4),
      name: textAt(first + 5),
      props: props === null ? null : JSON.parse(props),
      revenue,
      isInteractive,
      engagement,
      ...(origins[numbers[first + 7] ?? 0] as Origin),
    };
    events.push(event);
    places.set(event, place);
  }
  const rows = { bytes: bufferOf(encoded.rows), ends: encoded.rowEnds, places };
  const formerIdOf = (event: SiteEvent) => {
    const start = (places.get(event) ?? 0) * endLength;
    return event.id.slice(0, -endLength) + formerEnds.slice(start, start + endLength);
  };
  return { events, lines, early, machines, written: { ...rows, formerIdOf } };
}

function asciiOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("latin1");
}

export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
