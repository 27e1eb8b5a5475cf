import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inParallel } from "../load/client.js";

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

/** A recorded page view (packages/local/assets/demo/README.md). */
interface RecordedView {
  visitor: string;
  path: string;
  referrer?: string;
  country?: string;
  type?: string;
}

/** The longest visits are those of programs. */
const maxViews = 12;

const file = new URL("../../../local/assets/demo/semicomplete.visits.ndjson", import.meta.url);

const chrome = (system: string) =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36`;
const userAgents = [
  chrome("Windows NT 10.0; Win64; x64"),
  chrome("Macintosh; Intel Mac OS X 10_15_7"),
  "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1",
];

function readVisitors(): RecordedView[][] {
  const visitors = new Map<string, RecordedView[]>();
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    const view: RecordedView = JSON.parse(line);
    if (view.type === undefined) visitors.set(view.visitor, [...(visitors.get(view.visitor) ?? []), view]);
  }
  return [...visitors.values()].filter((views) => views.length <= maxViews);
}

/** Sends page views as browsers do, the recorded visitors over and over, each time from another address. */
export async function sendEvents({ url, domain }: { url: string; domain: string }, count: number): Promise<void> {
  const recorded = readVisitors();
  const visits: { number: number; views: RecordedView[] }[] = [];
  for (let sent = 0; sent < count; ) {
    const views = (recorded[visits.length % recorded.length] ?? []).slice(0, count - sent);
    visits.push({ number: visits.length, views });
    sent += views.length;
  }
  await inParallel(visits.length, async (n) => {
    const { number, views } = visits[n] ?? { number: 0, views: [] };
    for (const { path, referrer, country } of views) {
      const answer = await fetch(`${url}/api/event`, {
        method: "POST",
        headers: {
          "User-Agent": userAgents[number % userAgents.length] ?? "",
          "X-Forwarded-For": `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
          "CF-IPCountry": country ?? "XX",
        },
        body: JSON.stringify({ name: "pageview", url: `https://${domain}${path}`, domain, referrer }),
      });
      await answer.arrayBuffer();
      if (answer.status !== 202) throw new Error(`The collector answered ${answer.status}`);
    }
  });
}
