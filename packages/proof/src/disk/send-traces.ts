import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inParallel } from "./in-parallel.js";

/** A recorded run of an agent; `parent` is the index of an earlier span. */
interface Recording {
  trace: Record<string, unknown>;
  spans: (Record<string, unknown> & { parent: number | null })[];
  final: Record<string, unknown>;
}

interface Run {
  readonly id: string;
  readonly recording: Recording;
}

interface Target {
  url: string;
  key: string;
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const linesOf = (file: string) => readFileSync(file, "utf8").trim().split("\n");

/** The demo's recordings (packages/local/assets/demo/README.md). */
function readRecordings(): Recording[] {
  const folder = `${root}packages/local/assets/demo/`;
  return readdirSync(folder)
    .filter((name) => name.endsWith(".traces.ndjson"))
    .flatMap((name) => linesOf(folder + name))
    .map((line) => JSON.parse(line) as Recording);
}

/** Creates traces, the recorded ones over and over. */
export async function createTraces(target: Target, count: number): Promise<Run[]> {
  const recordings = readRecordings();
  const runs: Run[] = [];
  await inParallel(count, async (n) => {
    const recording = recordings[n % recordings.length];
    if (!recording) return;
    const { trace_id } = await send(target, "POST", "/api/v1/traces", JSON.stringify(recording.trace));
    runs.push({ id: String(trace_id), recording });
  });
  return runs;
}

/** @returns the number of spans */
export async function sendSpans(target: Target, runs: readonly Run[]): Promise<number> {
  let sent = 0;
  await inParallel(runs.length, async (n) => {
    const run = runs[n];
    if (!run) return;
    const spans = run.recording.spans.map(({ parent, ...span }, index) => ({
      ...span,
      ref: String(index),
      ...(parent !== null && { parent_ref: String(parent) }),
    }));
    sent += spans.length;
    await send(target, "POST", `/api/v1/traces/${run.id}/spans/batch`, JSON.stringify({ spans }));
  });
  return sent;
}

export async function endTraces(target: Target, runs: readonly Run[]): Promise<void> {
  await inParallel(runs.length, async (n) => {
    const run = runs[n];
    if (run) await send(target, "PATCH", `/api/v1/traces/${run.id}`, JSON.stringify(run.recording.final));
  });
}

/** Sends the exporters' recorded requests over and over, each time with new ids of traces. */
export async function sendOtlp(target: Target, count: number): Promise<void> {
  const requests = linesOf(`${root}apps/trace-api/fixtures/otlp-requests.ndjson`)
    .map((line): { name: string; json: string } => JSON.parse(line))
    .filter(({ name }) => /^sdk-\d/.test(name));
  await inParallel(count, async (n) => {
    const { json = "{}" } = requests[n % requests.length] ?? {};
    const ids = new Map<string, string>();
    const body = json.replaceAll(/"traceId":"([0-9a-f]{32})"/g, (_all, id: string) => {
      if (!ids.has(id)) ids.set(id, randomBytes(16).toString("hex"));
      return `"traceId":"${ids.get(id)}"`;
    });
    await send(target, "POST", "/v1/traces", body);
  });
}

async function send(
  { url, key }: Target,
  method: string,
  path: string,
  body: string,
): Promise<Record<string, unknown>> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const answer = await fetch(url + path, { method, headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}
