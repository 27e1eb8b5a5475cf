import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { importEvents } from "@waymark/analytics";
import type pg from "pg";

const dayMs = 24 * 3_600_000;

/** Spreading visits over so many days puts some on each of the last 30 days. */
const spreadDays = 29;

const assetsFolder = new URL("../../assets/demo/", import.meta.url);

/** The files of visits, by domain. */
export const visitFiles = {
  "semicomplete.com": "semicomplete.visits.ndjson",
  "adver.tools": "advertools.visits.ndjson",
} as const;

/** Only the made-up trace failed; it comes last. */
const traceFiles = [
  "mini-swe-agent.traces.ndjson",
  "openhands.traces.ndjson",
  "openai-agents.traces.ndjson",
  "made-up.traces.ndjson",
] as const;

/**
 * Imports a site's visits, the last one at `end`. A repeated call with the same `end` counts no visit twice, so an interrupted
 * load can run again.
 * @returns the number of visits in the file
 */
export async function loadVisits(
  pool: pg.Pool,
  { site, end }: { site: { id: string; domain: keyof typeof visitFiles }; end: Date },
): Promise<number> {
  const file = fileURLToPath(new URL(visitFiles[site.domain], assetsFolder));
  const { imported, duplicates, rejected } = await importEvents({ pool, site, input: moveLines(file, end) });
  if (rejected > 0) throw new Error(`${rejected} lines of ${file} were rejected`);
  return imported + duplicates;
}

/** The lines of a file, oldest first, with times stretched over the 29 days before `end`. */
async function* moveLines(file: string, end: Date): AsyncGenerator<Buffer> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const timeOf = (line: string | undefined) => Date.parse((JSON.parse(line ?? "{}") as { ts: string }).ts);
  const [first, last] = [timeOf(lines[0]), timeOf(lines.at(-1))];
  const stretch = (spreadDays * dayMs) / (last - first);
  for (const line of lines) {
    const ts = new Date(end.getTime() - (last - timeOf(line)) * stretch).toISOString();
    yield Buffer.from(`${JSON.stringify({ ...(JSON.parse(line) as object), ts })}\n`);
  }
}

interface DemoTrace {
  trace: { started_at: string; ended_at: string | null; [field: string]: unknown };
  spans: { started_at: string; ended_at: string | null; parent: number | null; [field: string]: unknown }[];
  final: { status: string; ended_at: string };
}

/**
 * Sends the demo's traces to the trace service as an agent would: the trace, its spans, the end. The last trace ends at `end`,
 * the others an hour apart before it.
 * @returns the number of traces
 * @throws Error with the service's answer after a refusal
 */
export async function sendTraces(options: { baseUrl: string; key: string; end: Date }): Promise<number> {
  const traces: DemoTrace[] = [];
  for (const file of traceFiles) {
    for await (const line of createInterface(createReadStream(new URL(file, assetsFolder))))
      traces.push(JSON.parse(line));
  }
  for (const [index, trace] of traces.entries()) {
    const end = options.end.getTime() - (traces.length - 1 - index) * 3_600_000;
    await sendTrace(options, moveTrace(trace, end - Date.parse(trace.final.ended_at)));
  }
  return traces.length;
}

async function sendTrace(
  { baseUrl, key }: { baseUrl: string; key: string },
  { trace, spans, final }: DemoTrace,
): Promise<void> {
  const send = async (method: string, path: string, body: unknown) => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as { trace_id: string; span_id: string };
  };
  const { trace_id } = await send("POST", "/api/v1/traces", { ...trace, status: "running", ended_at: null });
  const spanIds: string[] = [];
  for (const { parent, ...span } of spans) {
    const parent_span_id = parent === null ? null : (spanIds[parent] ?? null);
    const { span_id } = await send("POST", `/api/v1/traces/${trace_id}/spans`, { ...span, parent_span_id });
    spanIds.push(span_id);
  }
  await send("PATCH", `/api/v1/traces/${trace_id}`, final);
}

function moveTrace({ trace, spans, final }: DemoTrace, shiftMs: number): DemoTrace {
  const move = <T extends { started_at?: string; ended_at: string | null }>(part: T): T => ({
    ...part,
    ...(part.started_at && { started_at: moveTime(part.started_at, shiftMs) }),
    ended_at: part.ended_at && moveTime(part.ended_at, shiftMs),
  });
  return { trace: move(trace), spans: spans.map(move), final: move(final) };
}

/** Moves a time by whole milliseconds and keeps its microseconds. */
function moveTime(time: string, shiftMs: number): string {
  const micros = /\.\d{3}(\d{3})/.exec(time)?.[1] ?? "";
  return new Date(Date.parse(time) + Math.round(shiftMs)).toISOString().replace("Z", `${micros}Z`);
}
