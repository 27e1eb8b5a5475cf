import {
  cutTo,
  fit,
  formatBytes,
  formatDuration,
  printable,
  type TerminalStyle,
  toJsonLine,
} from "../output/terminal-text.js";

/** Of a longer line the rest is passed over, so that memory does not grow with a line. */
export const maxLineBytes = 262_144;
const maxPrefixLength = 200;
const maxShown = { line: 4_000, value: 500, text: 2_000 };

interface Line {
  text: string;
  /** Of the whole line. */
  bytes: number;
}

/** A line of a service as it wrote it; nothing where it is no JSON of ours. */
type LogRecord = Readonly<Record<string, unknown>>;

export interface LogLine extends Line {
  record: LogRecord | undefined;
}

/** Splits a stream into lines; holds one line of the most bytes and one chunk. */
export async function* readLines(source: AsyncIterable<Buffer | string>): AsyncGenerator<Line> {
  const head = Buffer.allocUnsafe(maxLineBytes);
  let [kept, bytes] = [0, 0];
  for await (const given of source) {
    const chunk = typeof given === "string" ? Buffer.from(given) : given;
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(10, from);
      const to = end === -1 ? chunk.length : end;
      if (bytes === 0 && end !== -1 && to - from <= maxLineBytes)
        yield { text: chunk.toString("utf8", from, to), bytes: to - from };
      else {
        kept += chunk.copy(head, kept, from, to);
        bytes += to - from;
        if (end !== -1) {
          yield { text: head.toString("utf8", 0, kept), bytes };
          [kept, bytes] = [0, 0];
        }
      }
      from = to + 1;
    }
  }
  if (bytes > 0) yield { text: head.toString("utf8", 0, kept), bytes };
}

/** Several logs as one, by the times of their lines; one without a time follows the line before. */
export async function* mergeLines(sources: readonly AsyncIterator<LogLine>[]): AsyncGenerator<LogLine> {
  const heads = await Promise.all(sources.map(async (lines) => ({ lines, time: "", next: await lines.next() })));
  for (const head of heads) head.time = timeOf(head.next.value);
  for (;;) {
    const open = heads.filter(({ next }) => !next.done);
    const [first] = open;
    if (!first) return;
    const head = open.reduce((least, each) => (each.time < least.time ? each : least), first);
    yield head.next.value as LogLine;
    head.next = await head.lines.next();
    head.time = timeOf(head.next.value) || head.time;
  }
}

const timeOf = (line: LogLine | undefined) => textOf(line?.record?.["time"]);
const textOf = (value: unknown) => (typeof value === "string" ? value : "");

/** What a program before us may have put before the JSON, such as a container's name, is passed over. */
function parseRecord(text: string): LogRecord | undefined {
  const start = text.indexOf('{"level":');
  if (start === -1 || start > maxPrefixLength) return undefined;
  try {
    return JSON.parse(text.slice(start)) as LogRecord;
  } catch {
    return undefined;
  }
}

interface LogFilter {
  requestId?: string | undefined;
  accountId?: string | undefined;
  keyId?: string | undefined;
  leastMs?: number | undefined;
  /** Such as `5xx` and `404`. */
  statuses?: readonly string[] | undefined;
  sinceMs?: number | undefined;
}

/** @returns the parsed lines that have all of the filter; without one, also lines that are no JSON */
export function createSieve(filter: LogFilter): (line: Line) => LogLine | undefined {
  const { leastMs, statuses, sinceMs, ...rest } = filter;
  const ids = Object.entries(rest).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const isOfRequests = ids.length > 0 || leastMs !== undefined || statuses !== undefined;
  const isWanted = (record: LogRecord) => {
    const { ms, status, time } = record;
    if (ids.some(([name, id]) => record[name] !== id)) return false;
    if (leastMs !== undefined && !(typeof ms === "number" && ms >= leastMs)) return false;
    if (statuses && !statuses.some((form) => new RegExp(`^${form.replace("xx", "\\d\\d")}$`).test(String(status))))
      return false;
    return sinceMs === undefined || !(Date.parse(textOf(time)) < sinceMs);
  };
  // A stack without a time belongs to the line before it.
  let isAfterSince = sinceMs === undefined;
  return (line) => {
    if (ids.some(([, id]) => !line.text.includes(id))) return undefined;
    const record = parseRecord(line.text);
    if (!record) return isOfRequests || !isAfterSince ? undefined : { ...line, record };
    if (!isWanted(record)) return undefined;
    isAfterSince = true;
    return { ...line, record };
  };
}

/** A line for a reader, without anything that controls a terminal. */
export function drawLine({ text, bytes, record }: LogLine, style: TerminalStyle): string {
  if (!record) {
    const size = bytes > maxShown.text ? ` (a line of ${formatBytes(bytes)})` : "";
    return style.dim(`${printable(cutTo(text, maxShown.text))}${size}`);
  }
  const { level, time, service, method, path, status, ms, msg, requestId, accountId, keyId, ...more } = record;
  const isRequest = msg === "request" && typeof status === "number" && typeof ms === "number";
  const about = isRequest ? `${method} ${path} ${status} ${formatDuration(ms * 1_000)}` : `${level}: ${msg}`;
  const ids = {
    request: requestId,
    account: accountId,
    key: keyId,
    ...(isRequest ? { ...more } : { method, path, status, ms, ...more }),
  };
  const fields = Object.entries(ids).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${shown(value)}`],
  );
  const isBad = level === "error" || level === "fatal" || (typeof status === "number" && status >= 500);
  const head = printable(cutTo(`${shown(time)} ${fit(shown(service), 13)} ${about}`, maxShown.line));
  return `${isBad ? style.red(head) : head} ${style.dim(printable(cutTo(fields.join(" "), maxShown.line)))}`.trimEnd();
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (toJsonLine(value) ?? "-");
  return text.length > maxShown.value ? cutTo(text, maxShown.value) : text;
}

export function toJson({ text, bytes, record }: LogLine): string {
  return toJsonLine(record ?? { text: cutTo(text, maxShown.text), bytes }) ?? "";
}
