import { type LabelName, maxLabel, maxTag, maxTags, type textLabels } from "../trace-fields.js";
import { jsonOfContent, jsonOfIndexed, jsonOfValue, storableText, textOfValue } from "./any-value.js";
import {
  choiceEvent,
  conventions,
  detailsEvent,
  type EventSource,
  eventSources,
  freeLabelNames,
  labelSources,
  type Source,
  type StringFormat,
} from "./conventions.js";
import type { LogRecord, OtlpSpan, SpanEvent } from "./read-json.js";
import { type AnyValue, type KeyValue, withMembers } from "./request.js";

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

/** Of one list; the others stay attributes. Placing a thousand takes milliseconds, and SDKs keep 128 of a span by default. */
const maxIndexed = 1_000;

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
    // `gen_ai.prompt.name` is no message.
    if (prefix === undefined || !(key.charAt(prefix.length) <= "9")) return;
    const list = this.indexed.get(prefix);
    if (list && list.length === maxIndexed) return;
    if (list) list.push(attribute);
    else this.indexed.set(prefix, [attribute]);
  }

  private take({ attributes = {}, main, events, format, mediaType }: Source): string | undefined {
    if (main !== undefined && !this.named.has(attributes[main] ?? "")) return undefined;
    const found: [string, KeyValue][] = [];
    for (const member in attributes) {
      const attribute = this.named.get(attributes[member] ?? "");
      if (attribute) found.push([member, attribute]);
    }
    const [first] = found;
    if (!first) return undefined;
    const part = events && partOfEvents(textOfValue(first[1].value) ?? "", events);
    if (events && part === undefined) return undefined;
    for (const [, attribute] of found) this.used.add(attribute);
    if (part !== undefined) return part;
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

/** Longer lists of events stay attributes: taking one apart would take long. */
const maxEvents = 65_536;

/** The choices of a model in a JSON list of events, or the events before them; undefined without any, and for other texts. */
function partOfEvents(text: string, wanted: "choices" | "others"): string | undefined {
  if (text.length > maxEvents || !text.startsWith("[") || !text.includes('"event.name"')) return undefined;
  try {
    const events: unknown[] = JSON.parse(text);
    const nameOf = (event: unknown) => Object(event)["event.name"];
    if (!events.every(nameOf)) return undefined;
    const part = events.filter((event) => (nameOf(event) === choiceEvent) === (wanted === "choices"));
    return part.length === 0 ? undefined : JSON.stringify(part);
  } catch {
    return undefined;
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
  content.events = content.events.map((each) =>
    each === event ? withMembers(event, { attributes: details.rest }) : each,
  );
}

function readEvents(content: Content): void {
  const said: Record<Direction, string[]> = { input: [], output: [] };
  const isBare: Record<Direction, boolean> = { input: true, output: true };
  content.events = content.events.filter((event) => {
    const source = eventSources.get(event.name);
    const json = source && content[source.direction] === null ? contentOfEvent(event.attributes, source) : undefined;
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

function contentOfEvent(said: readonly KeyValue[], { attribute, role }: EventSource): string | undefined {
  if (attribute !== undefined) {
    const found = said.find(({ key }) => key === attribute);
    return found && jsonOfContent(found.value);
  }
  const members = said.map(({ key, value }) => `${JSON.stringify(key)}:${jsonOfContent(value)}`);
  if (role !== undefined && !said.some(({ key }) => key === "role")) members.unshift(`"role":"${role}"`);
  return `{${members.join(",")}}`;
}

/** Longer inputs are not searched for a title. */
const maxTitled = 65_536;
const maxTitle = 200;
const maxTitleDepth = 5;

/** The first line of what the user says first in an input; undefined where nobody is known to say something. */
export function titleOf(input: string | null): string | undefined {
  if (input === null || input.length > maxTitled) return undefined;
  // Claude Code's spans begin what the user says so.
  const said = saidIn(JSON.parse(input), 0)?.replace(/^\[USER\]\n/, "");
  const line = said?.trim().split("\n", 1)[0] ?? "";
  return storableText(line.trim(), maxTitle) || undefined;
}

/** Members with messages, or with a text by itself. */
const askedIn = ["messages", "contents", "input", "prompt", "question", "query"] as const;

function saidIn(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || depth > maxTitleDepth) return undefined;
  if (Array.isArray(value)) return firstOf(value, (each) => (isOfUser(each) ? textIn(each, depth + 1) : undefined));
  return firstOf(askedIn, (name) => saidIn((value as Record<string, unknown>)[name], depth + 1));
}

/** LangChain writes messages as constructors of their classes. */
function isOfUser(message: unknown): boolean {
  const { role, type, id } = Object(message);
  return role === "user" || type === "human" || (Array.isArray(id) && id.at(-1) === "HumanMessage");
}

/** The text of a message or of its first part with one. */
function textIn(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (depth > maxTitleDepth) return undefined;
  if (Array.isArray(value)) return firstOf(value, (part) => textIn(part, depth + 1));
  const { content, parts, text, kwargs } = Object(value);
  return firstOf([text, content, parts, kwargs], (each) => (each ? textIn(each, depth + 1) : undefined));
}

function firstOf<Each, Found>(list: readonly Each[], find: (each: Each) => Found | undefined): Found | undefined {
  for (const each of list) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A log record's input or output as JSON text, and the attributes and the body that are left. */
export interface LogContent {
  input: string | null;
  output: string | null;
  attributes: readonly KeyValue[];
  body: AnyValue | null;
}

/** Finds the contents of an event sent as a log record: in its body, the members of which are as attributes, else in these. */
export function findLogContent(name: string, { attributes, body }: LogRecord): LogContent {
  const whole: LogContent = { input: null, output: null, attributes, body };
  const members = body?.value === "kvlistValue" ? body.kvlistValue.values : [];
  if (name === detailsEvent) {
    const details = new Candidates([...attributes, ...members]);
    const [input, output] = [details.find("input"), details.find("output")];
    return { input, output, attributes: details.rest, body: members.length > 0 ? null : body };
  }
  const source = eventSources.get(name);
  if (!source) return whole;
  const isBare = !body?.value;
  const said = isBare ? attributes : members.length > 0 ? members : [{ key: "content", value: body }];
  const json = contentOfEvent(said, source);
  return json === undefined
    ? whole
    : { ...whole, [source.direction]: json, attributes: isBare ? [] : attributes, body: null };
}

/** Labels of a span or resource; absent ones are left out. */
export type SomeLabels = { [Name in (typeof textLabels)[number]]?: string } & { tags?: readonly string[] };

/** OpenInference's and Braintrust's metadata, as JSON. */
const metadataNames = new Set(["metadata", "braintrust.metadata"]);
/** Parsing more would take long. */
const maxMetadata = 16_384;

interface Place {
  name: LabelName;
  /** The lowest counts. */
  rank: number;
}

const allLabels = Object.keys(freeLabelNames) as LabelName[];
const places = new Map<string, Place>();
const add = (attribute: string, name: LabelName) => {
  if (!places.has(attribute)) places.set(attribute, { name, rank: places.size });
};
for (const source of labelSources) {
  for (const name of allLabels) for (const attribute of source[name] ?? []) add(attribute, name);
}
for (const { prefix } of labelSources) {
  if (prefix === undefined) continue;
  for (const name of allLabels) for (const end of freeLabelNames[name]) add(prefix + end, name);
}
const metadataPlaces = new Map(
  allLabels.flatMap((name) => freeLabelNames[name].map((end, n) => [end, { name, rank: places.size + n }] as const)),
);

/** The labels that attributes have. Values are cut to the limits of the trace API. */
export function labelsOf(attributes: readonly KeyValue[]): SomeLabels | null {
  const found = new Found();
  for (const { key, value } of attributes) {
    const place = places.get(key);
    if (place) found.add(place, value);
    else if (metadataNames.has(key)) addMetadata(found, textOfValue(value));
  }
  return found.labels;
}

/** A span's own labels, and its resource's others. */
export function withLabelsOf(own: SomeLabels | null, resource: SomeLabels | null): SomeLabels | null {
  return own && resource ? { ...resource, ...own } : (own ?? resource);
}

class Found {
  labels: SomeLabels | null = null;
  private readonly ranks: Partial<Record<LabelName, number>> = {};

  add({ name, rank }: Place, value: AnyValue | null | undefined): void {
    if (rank >= (this.ranks[name] ?? Infinity)) return;
    const read = name === "tags" ? tagsOf(value) : labelOf(value);
    if (read === undefined) return;
    this.ranks[name] = rank;
    this.labels = { ...this.labels, [name]: read };
  }
}

function addMetadata(found: Found, json: string | undefined): void {
  if (json === undefined || json.length > maxMetadata || !json.startsWith("{")) return;
  try {
    for (const [key, value] of Object.entries(JSON.parse(json) as Record<string, unknown>)) {
      const place = metadataPlaces.get(key);
      if (place) found.add(place, anyValueOf(value));
    }
  } catch {
    // Metadata that is no JSON has no labels.
  }
}

function anyValueOf(json: unknown): AnyValue | null {
  if (typeof json === "string") return { value: "stringValue", stringValue: json };
  if (typeof json === "number") return { value: "doubleValue", doubleValue: json };
  if (!Array.isArray(json)) return null;
  const values = json.slice(0, maxRead).flatMap((each) => anyValueOf(each) ?? []);
  return { value: "arrayValue", arrayValue: { values } };
}

/** Numbers become texts. */
function labelOf(value: AnyValue | null | undefined): string | undefined {
  if (value?.value === "stringValue") return storableText(value.stringValue.trim(), maxLabel) || undefined;
  return value?.value === "intValue" || value?.value === "doubleValue" ? jsonOfValue(value) : undefined;
}

const maxRead = 1_000;

/** A list, a JSON list, or words separated by commas. The first in the order of their bytes stay. */
function tagsOf(value: AnyValue | null | undefined): string[] | undefined {
  const tags = tagTexts(value).flatMap((text) => storableText(text.trim(), maxTag) || []);
  return tags.length === 0 ? undefined : sortedTags(tags);
}

function tagTexts(value: AnyValue | null | undefined): string[] {
  if (value?.value === "arrayValue")
    return value.arrayValue.values.slice(0, maxRead).flatMap((each) => labelOf(each) ?? []);
  const text = textOfValue(value)?.slice(0, maxMetadata).trim() ?? "";
  if (!text.startsWith("[")) return text.split(",").slice(0, maxRead);
  try {
    return tagTexts(anyValueOf(JSON.parse(text)));
  } catch {
    return [];
  }
}

/** As many tags as a trace has, in the order of the collation `C`, each once. */
export function sortedTags(tags: Iterable<string>): string[] {
  return [...new Set(tags)].sort(compareBytes).slice(0, maxTags);
}

/** Orders texts by their UTF-8. UTF-16 has the same order but for surrogates, and takes a tenth of the time. */
function compareBytes(a: string, b: string): number {
  if (/[\ud800-\udfff]/.test(a) || /[\ud800-\udfff]/.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
