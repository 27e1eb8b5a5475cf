import { jsonOfContent, jsonOfIndexed, textOfValue } from "./any-value.js";
import {
  conventions,
  detailsEvent,
  type EventSource,
  eventSources,
  type Source,
  type StringFormat,
} from "./conventions.js";
import type { OtlpSpan, SpanEvent } from "./read-json.js";
import type { KeyValue } from "./request.js";

/** A span's input and output as JSON text, and its other attributes and events. */
export interface Content {
  input: string | null;
  output: string | null;
  attributes: readonly KeyValue[];
  events: readonly SpanEvent[];
}

type Direction = "input" | "output";

const sources: Readonly<Record<Direction, readonly Source[]>> = {
  input: conventions.flatMap(({ input }) => input),
  output: conventions.flatMap(({ output }) => output),
};
const allSources = [...sources.input, ...sources.output];
const prefixes = allSources.flatMap(({ indexed }) => (indexed === undefined ? [] : [`${indexed}.`]));
const names = new Set(allSources.flatMap(({ attributes = {} }) => Object.values(attributes)));

/** The attributes that sources may use, by name or by prefix. */
class Candidates {
  readonly named = new Map<string, KeyValue>();
  readonly indexed = new Map<string, KeyValue[]>();
  /** Empty texts: a streamed answer has one beside its tool calls. */
  private readonly empty = new Map<string, KeyValue>();
  private readonly used = new Set<KeyValue>();

  constructor(private readonly all: readonly KeyValue[]) {
    for (const attribute of all) this.sort(attribute);
  }

  get rest(): readonly KeyValue[] {
    return this.used.size === 0 ? this.all : this.all.filter((attribute) => !this.used.has(attribute));
  }

  /** Returns an empty text only where no other source has a value. */
  find(direction: Direction): string | null {
    if (this.named.size === 0 && this.indexed.size === 0 && this.empty.size === 0) return null;
    for (const source of sources[direction]) {
      const json = source.indexed === undefined ? this.take(source) : this.takeIndexed(`${source.indexed}.`);
      if (json !== undefined) return json;
    }
    return this.takeEmpty(direction);
  }

  private sort(attribute: KeyValue): void {
    const { key } = attribute;
    if (names.has(key)) {
      const isEmpty = textOfValue(attribute.value) === "";
      (isEmpty ? this.empty : this.named).set(key, attribute);
      return;
    }
    const prefix = prefixes.find((start) => key.startsWith(start));
    if (prefix === undefined) return;
    const list = this.indexed.get(prefix);
    if (list) list.push(attribute);
    else this.indexed.set(prefix, [attribute]);
  }

  private take({ attributes = {}, format, mediaType }: Source): string | undefined {
    const found: [string, KeyValue][] = [];
    for (const member in attributes) {
      const attribute = this.named.get(attributes[member] ?? "");
      if (attribute) found.push([member, attribute]);
    }
    const [first] = found;
    if (!first) return undefined;
    for (const [, attribute] of found) this.used.add(attribute);
    const asked = mediaType === undefined ? format : this.formatOf(mediaType);
    if (found.length === 1) return jsonOfContent(first[1].value, asked);
    return `{${found.map(([member, { value }]) => `"${member}":${jsonOfContent(value, asked)}`).join(",")}}`;
  }

  private takeIndexed(prefix: string): string | undefined {
    const list = this.indexed.get(prefix);
    if (!list) return undefined;
    const { json, placed } = jsonOfIndexed(list, prefix);
    for (const attribute of placed) this.used.add(attribute);
    return json;
  }

  private takeEmpty(direction: Direction): string | null {
    if (this.empty.size === 0) return null;
    const all = sources[direction].flatMap(({ attributes = {} }) => Object.values(attributes));
    const attribute = all.map((name) => this.empty.get(name)).find((each) => each !== undefined);
    if (!attribute) return null;
    this.used.add(attribute);
    return '""';
  }

  private formatOf(mediaType: string): StringFormat {
    const type = textOfValue(this.all.find(({ key }) => key === mediaType)?.value);
    if (type === undefined) return "guess";
    return /^application\/(.*\+)?json\b/i.test(type) ? "json" : "text";
  }
}

/** Finds a span's input and output by the known conventions, in its attributes first, then in its events. */
export function findContent({ attributes, events }: OtlpSpan): Content {
  const candidates = new Candidates(attributes);
  const content: Content = {
    input: candidates.find("input"),
    output: candidates.find("output"),
    attributes: candidates.rest,
    events,
  };
  if (events.length > 0 && (content.input === null || content.output === null)) {
    readDetails(content);
    readEvents(content);
  }
  return content;
}

function readDetails(content: Content): void {
  const event = content.events.find(({ name }) => name === detailsEvent);
  if (!event) return;
  const details = new Candidates(event.attributes);
  content.input ??= details.find("input");
  content.output ??= details.find("output");
  content.events = content.events.map((each) => (each === event ? { ...event, attributes: details.rest } : each));
}

function readEvents(content: Content): void {
  const said: Record<Direction, string[]> = { input: [], output: [] };
  const isBare: Record<Direction, boolean> = { input: true, output: true };
  content.events = content.events.filter((event) => {
    const source = eventSources.get(event.name);
    const json = source && content[source.direction] === null ? contentOfEvent(event, source) : undefined;
    if (!source || json === undefined) return true;
    said[source.direction].push(json);
    isBare[source.direction] &&= source.attribute !== undefined;
    return false;
  });
  for (const direction of ["input", "output"] as const) {
    const [first, ...others] = said[direction];
    if (first === undefined) continue;
    content[direction] = isBare[direction] && others.length === 0 ? first : `[${said[direction].join(",")}]`;
  }
}

function contentOfEvent(event: SpanEvent, { attribute, role }: EventSource): string | undefined {
  if (attribute !== undefined) {
    const found = event.attributes.find(({ key }) => key === attribute);
    return found && jsonOfContent(found.value);
  }
  const members = event.attributes.map(({ key, value }) => `${JSON.stringify(key)}:${jsonOfContent(value)}`);
  if (role !== undefined && !event.attributes.some(({ key }) => key === "role")) members.unshift(`"role":"${role}"`);
  return `{${members.join(",")}}`;
}
