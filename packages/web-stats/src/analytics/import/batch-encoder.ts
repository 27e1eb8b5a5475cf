import { Buffer } from "node:buffer";
import type { Claim, OpenClaim } from "../attribution/machine-claims.js";
import { loadReferrers } from "../attribution/referrer-directory.js";
import { type Classification, createSourceClassifier } from "../attribution/source-classifier.js";
import { createUserAgentReader, type UserAgent } from "../attribution/user-agent.js";
import { EventRows } from "../recording/copy-rows.js";
import { eventTypes } from "../recording/site-event.js";
import { hashPseudonym, hashVisitor, type Salts } from "../visitors/hash-visitor.js";
import { atLength, type EncodedBatch, idLength, noText, numbersPerEvent, type Origin } from "./encoded-batch.js";
import type { Derived, ImportLine } from "./import-line.schema.js";
import { endLength, type LineId, lineId } from "./line-id.js";
import { type MachineLine, MachineLines } from "./machine-lines.js";
import type { OccurrenceCounter } from "./occurrences.js";

class SharedValues<Value extends object> {
  readonly values: Value[] = [];
  private readonly places = new Map<Value, number>();
  private readonly placesByText = new Map<string, number>();

  /** The same object again is found without a look at its texts, none of which is empty. */
  placeOf(value: Value): number {
    const known = this.places.get(value);
    if (known !== undefined) return known;
    const text = Object.values(value).join("\0");
    let place = this.placesByText.get(text);
    if (place === undefined) {
      place = this.values.push(value) - 1;
      this.placesByText.set(text, place);
    }
    this.places.set(value, place);
    return place;
  }
}

/** What a line's event has from elsewhere. Equal arrivals and software are mostly the same object. */
interface Attribution {
  readonly host: string | null;
  readonly country: string | null;
  readonly arrival: Classification;
  /** Of an exported line all that nothing else could derive again. */
  readonly software: UserAgent | Derived;
}

export function createAttribution({ domain, countryOf }: { domain: string; countryOf: (ip: string) => string | null }) {
  const classify = createSourceClassifier({ referrers: loadReferrers(), siteDomain: domain });
  const readUserAgent = createUserAgentReader();
  return (line: ImportLine): Attribution => {
    const { ip, derived } = line;
    return {
      host: derived ? derived.host : line.host,
      country: line.country ?? (ip === null ? null : countryOf(ip)),
      arrival: classify(line.referrer, line.query),
      software: derived ?? line.software ?? readUserAgent(line.userAgent),
    };
  };
}

function isSalted({ visitor, ip, userAgent }: ImportLine): boolean {
  return visitor === null && (ip !== null || userAgent !== null);
}

function dayOf({ at }: ImportLine): string {
  return at.slice(0, 10);
}

/** Names the visitor of a line, by the salts of days of salted ones, and remembers those of a batch. */
function createVisitorOf(siteId: string, salts: Salts): (line: ImportLine) => string | null {
  const days = new Map<string, Map<string, string>>();
  let day = "none";
  let known = new Map<string, string>();
  const turnTo = (other: string) => {
    day = other;
    known = days.get(day) ?? new Map();
    days.set(day, known);
  };
  return (line) => {
    const { at, visitor, ip, userAgent } = line;
    // A line without pseudonym, address and browser counts as a view alone.
    if (visitor === null && ip === null && userAgent === null) return null;
    if (!at.startsWith(day)) turnTo(dayOf(line));
    // No pseudonym contains NUL.
    const key = visitor ?? `${ip ?? ""}\0${userAgent ?? ""}`;
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    const named = visitor === null ? ofClient(line, siteId, salts.get(day)) : hashPseudonym(siteId, day, visitor);
    known.set(key, named);
    return named;
  };
}

function ofClient(line: ImportLine, siteId: string, salt: Buffer | undefined): string {
  if (!salt) throw new Error(`There is no salt for ${dayOf(line)}`);
  return hashVisitor(salt, siteId, line.ip ?? "", line.userAgent ?? "");
}

interface BatchOptions {
  readonly siteId: string;
  readonly maxLines: number;
  /** The first day that takes events; null for any. */
  readonly horizon: string | null;
  /** Of days, as far as they are known. */
  readonly salts: ReadonlyMap<string, Buffer>;
  readonly occurrences: OccurrenceCounter;
  attribute(line: ImportLine): Attribution;
  settle(claims: readonly OpenClaim[]): Promise<readonly Claim[]>;
}

/** Of most lines; longer rows take a larger buffer. */
const expectedRowBytes = 400;

/** An event whose line may have earlier occurrences. */
interface Unsure {
  readonly place: number;
  readonly ids: LineId;
  readonly occurrence: number;
}

/** Encodes lines as events at once, so that nothing else of them stays in memory. */
export class BatchEncoder {
  private readonly ids: Buffer;
  private readonly formerEnds: Buffer;
  private readonly ats: Buffer;
  private readonly numbers: Int32Array;
  private readonly lines: number[] = [];
  private readonly early: number[] = [];
  private readonly texts = new Map<string, number>();
  private readonly arrivals = new SharedValues<Attribution["arrival"]>();
  private readonly software = new SharedValues<Attribution["software"]>();
  private readonly origins: Origin[] = [];
  private readonly originPlaces = new Map<number, number>();
  private readonly rare: Map<number, Pick<ImportLine, "revenue" | "isInteractive" | "engagement">> = new Map();
  private readonly rows: EventRows;
  private readonly unsure: Unsure[] = [];
  private readonly machines: MachineLines;
  /** The last day that needs no salt, since most lines are of the same day as the one before. */
  private saltedDay = "none";
  private readonly visitorOf: (line: ImportLine) => string | null;

  constructor(private readonly options: BatchOptions) {
    const { siteId, maxLines, salts } = options;
    this.ids = Buffer.allocUnsafeSlow(maxLines * idLength);
    this.formerEnds = Buffer.allocUnsafeSlow(maxLines * endLength);
    this.ats = Buffer.allocUnsafeSlow(maxLines * atLength);
    this.numbers = new Int32Array(maxLines * numbersPerEvent);
    this.rows = new EventRows(siteId, maxLines * expectedRowBytes);
    this.visitorOf = createVisitorOf(siteId, salts);
    this.machines = new MachineLines(options.occurrences);
  }

  get length(): number {
    return this.lines.length + this.early.length + this.machines.length;
  }

  /** The day whose salt the line needs and the batch lacks. */
  missingSalt(line: ImportLine): string | undefined {
    if (line.at.startsWith(this.saltedDay) || !isSalted(line)) return undefined;
    const day = dayOf(line);
    if (!this.options.salts.has(day) && !this.isEarly(day)) return day;
    this.saltedDay = day;
    return undefined;
  }

  add(number: number, line: ImportLine): void {
    if (this.isEarly(line.at)) {
      this.early.push(number);
      return;
    }
    const { occurrences, attribute } = this.options;
    const place = this.lines.length;
    const ids = lineId(line);
    const occurrence = occurrences.count(ids.first);
    if (occurrences.mayBeEarlier(ids.first)) this.unsure.push({ place, ids, occurrence });
    const id = ids.nth(occurrence);
    const { at, type, path, name, revenue, isInteractive, engagement } = line;
    const props = line.props && JSON.stringify(line.props);
    const attribution = attribute(line);
    const { host, country } = attribution;
    const visitor = this.visitorOf(line);
    const origin = this.placeOfOrigin(attribution);
    this.rows.add({ id, at, type, visitor, path, name, props, host, country, isInteractive, engagement }, origin);
    this.writeId(place, ids, occurrence);
    this.ats.write(at, place * atLength, "latin1");
    const { numbers } = this;
    let next = place * numbersPerEvent;
    numbers[next++] = eventTypes.indexOf(type);
    for (const text of [visitor, path, host, country, name, props]) numbers[next++] = this.placeOf(text);
    numbers[next] = origin;
    if (revenue !== null || !isInteractive || engagement !== null) {
      this.rare.set(place, { revenue, isInteractive, engagement });
    }
    this.lines.push(number);
  }

  addMachine(number: number, machine: MachineLine): void {
    if (this.isEarly(machine.line.at)) this.early.push(number);
    else this.machines.add(machine);
  }

  async finish(): Promise<EncodedBatch> {
    const { occurrences } = this.options;
    const { openClaims } = this.machines;
    const claims = openClaims.length === 0 ? [] : await this.options.settle(openClaims);
    const settled = new Map(openClaims.map((claim, index) => [claim, claims[index] ?? "unknown"]));
    const machines = await this.machines.finish((claim) => settled.get(claim) ?? "unknown");
    const earlier = await occurrences.readEarlier(this.unsure.map(({ ids }) => ids.first));
    for (const { place, ids, occurrence } of this.unsure) {
      const before = earlier.get(ids.first) ?? 0;
      if (before === 0) continue;
      this.rows.rename(place, ids.nth(before + occurrence));
      this.writeId(place, ids, before + occurrence);
    }
    await occurrences.tidy();
    const count = this.lines.length;
    const { bytes, ends } = this.rows.finish();
    return {
      ids: this.ids.subarray(0, count * idLength),
      formerEnds: this.formerEnds.subarray(0, count * endLength),
      ats: this.ats.subarray(0, count * atLength),
      numbers: this.numbers.subarray(0, count * numbersPerEvent),
      texts: [...this.texts.keys()],
      origins: this.origins,
      rare: this.rare,
      rows: bytes,
      rowEnds: ends,
      lines: Float64Array.from(this.lines),
      early: this.early,
      machines,
    };
  }

  private writeId(place: number, ids: LineId, occurrence: number): void {
    const id = ids.nth(occurrence);
    this.ids.write(id, place * idLength, "latin1");
    this.formerEnds.write(ids.formerEnd(occurrence) ?? id.slice(-endLength), place * endLength, "latin1");
  }

  private isEarly(at: string): boolean {
    const { horizon } = this.options;
    return horizon !== null && at < horizon;
  }

  private placeOf(text: string | null): number {
    if (text === null) return noText;
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    const place = this.texts.size;
    this.texts.set(text, place);
    return place;
  }

  private placeOfOrigin({ arrival, software }: Attribution): number {
    const key = this.arrivals.placeOf(arrival) * this.options.maxLines + this.software.placeOf(software);
    const known = this.originPlaces.get(key);
    if (known !== undefined) return known;
    const origin = { ...arrival, ...software };
    const place = this.origins.push(origin) - 1;
    this.rows.addOrigin(origin);
    this.originPlaces.set(key, place);
    return place;
  }
}
