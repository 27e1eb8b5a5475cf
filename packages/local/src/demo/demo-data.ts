import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { importEvents } from "@waymark/analytics";
import type pg from "pg";

const dayMs = 24 * 3_600_000;

/** Visits are spread over this many days, so that each of the 30 days of the longest range has some. */
const spreadDays = 29;

const assetsFolder = new URL("../../assets/demo/", import.meta.url);

/** The files of visits, by site. */
export const visitFiles = {
  "semicomplete.com": "semicomplete.visits.ndjson",
  "adver.tools": "advertools.visits.ndjson",
} as const;

/** The last one failed; all of the recorded runs succeeded. */
const runFiles = [
  "mini-swe-agent.runs.ndjson",
  "openhands.runs.ndjson",
  "openai-agents.runs.ndjson",
  "made-up.runs.ndjson",
] as const;

/**
 * Records a site's visits as if the last of them had come at a given time. With the same time again, nothing is recorded
 * twice, so that an interrupted load can be repeated.
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

/** The lines of a file, oldest first, with their times stretched over the days before `end`. */
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

interface Run {
  trace: { started_at: string; ended_at: string | null; [field: string]: unknown };
  spans: { started_at: string; ended_at: string | null; parent: number | null; [field: string]: unknown }[];
  final: { status: string; ended_at: string };
}

/**
 * Sends the recorded runs to the trace service as an agent would: the trace, its spans, the end. The last of them ends at
 * `end`, the others an hour apart before it.
 * @returns how many
 * @throws Error with the answer, when the service refuses one
 */
export async function sendRuns(options: { baseUrl: string; key: string; end: Date }): Promise<number> {
  const runs: Run[] = [];
  for (const file of runFiles) {
    for await (const line of createInterface(createReadStream(new URL(file, assetsFolder))))
      runs.push(JSON.parse(line));
  }
  for (const [index, run] of runs.entries()) {
    const end = options.end.getTime() - (runs.length - 1 - index) * 3_600_000;
    await sendRun(options, moveRun(run, end - Date.parse(run.final.ended_at)));
  }
  return runs.length;
}

async function sendRun(
  { baseUrl, key }: { baseUrl: string; key: string },
  { trace, spans, final }: Run,
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

function moveRun({ trace, spans, final }: Run, shiftMs: number): Run {
  const move = <T extends { started_at?: string; ended_at: string | null }>(part: T): T => ({
    ...part,
    ...(part.started_at && { started_at: moveTime(part.started_at, shiftMs) }),
    ended_at: part.ended_at && moveTime(part.ended_at, shiftMs),
  });
  return { trace: move(trace), spans: spans.map(move), final: move(final) };
}

/** A time moved by whole milliseconds, its microseconds kept. */
function moveTime(time: string, shiftMs: number): string {
  const micros = /\.\d{3}(\d{3})/.exec(time)?.[1] ?? "";
  return new Date(Date.parse(time) + Math.round(shiftMs)).toISOString().replace("Z", `${micros}Z`);
}
