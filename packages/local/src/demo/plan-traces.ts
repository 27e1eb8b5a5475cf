import { readFile } from "node:fs/promises";
import type { DemoSpan, DemoTrace } from "./draft-trace.js";
import { createRandom, type Random } from "./random.js";
import { draftInvoiceReader, draftMarketResearch, draftReleaseNotes } from "./scripted-agents.js";
import { draftSupportBot } from "./support-bot.js";

const assetsFolder = new URL("../../assets/demo/", import.meta.url);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The time from the first trace to the first start: within 30 UTC days, after a move out of the night by 7 hours. */
const spanMs = 29 * dayMs - 7 * hourMs;

export interface PlannedTrace extends DemoTrace {
  startedAt: number;
}

/** The Pro account's traces: six agents, 200 traces, 24 of them failed, one running. */
export async function planProTraces(end: number): Promise<PlannedTrace[]> {
  const random = createRandom(1);
  const airline = await readRecordings(new URL("tau-bench.traces.ndjson", assetsFolder));
  const fixer = await readFixer();
  const drafts: DemoTrace[] = [
    ...repeat(36, (n) => airline[n % airline.length]),
    ...repeat(20, (n) => fixer[n % fixer.length]),
    ...repeat(54, (n) => draftSupportBot(random, { number: 4_000 + n, ending: n % 9 === 3 ? "error" : "success" })),
    ...repeat(34, (n) => draftMarketResearch(random, { hasFailed: n % 12 === 5 })),
    ...repeat(36, (n) => invoiceBatch(random, n)),
    ...repeat(16, (n) => draftReleaseNotes(random, { version: `2.${n}.0`, hasTimedOut: n === 7, review: "short" })),
  ];
  const newest = end - 2 * hourMs;
  const spread = shuffle(drafts, random).map((trace, index) => ({
    ...trace,
    startedAt: newest - spreadOut((drafts.length - 1 - index) / (drafts.length - 1), random) * (spanMs - 2 * hourMs),
  }));
  const long = draftReleaseNotes(random, { version: "3.0.0", hasTimedOut: false, review: "long" });
  return [...spread.map(atWork), ...newestTraces(random, end), { ...long, startedAt: end - 26 * hourMs }].sort(
    (a, b) => a.startedAt - b.startedAt,
  );
}

export function planFreeTraces(end: number): PlannedTrace[] {
  const random = createRandom(2);
  return repeat(24, (n) => ({
    ...draftSupportBot(random, { number: 100 + n, ending: n % 8 === 5 ? "error" : "success" }),
    startedAt: end - (24 - n) * 20 * hourMs,
  }));
}

/** The last hour: what a visitor sees first. */
function newestTraces(random: Random, end: number): PlannedTrace[] {
  const failed = draftSupportBot(random, { number: 4_071, ending: "error" });
  const batch = draftInvoiceReader(random, { number: 97, invoices: 499, ending: "success" });
  const running = draftSupportBot(random, { number: 4_072, ending: "running" });
  return [
    { ...batch, startedAt: end - 40 * 60_000 },
    { ...failed, startedAt: end - 3 * 60_000 },
    { ...running, startedAt: end - 20_000 },
  ];
}

async function readFixer(): Promise<DemoTrace[]> {
  const files = ["swe-agent", "openhands", "mini-swe-agent"];
  const read = (name: string) => readRecordings(new URL(`${name}.traces.ndjson`, assetsFolder));
  return (await Promise.all(files.map(read))).flat();
}

function invoiceBatch(random: Random, n: number): DemoTrace {
  const ending = n === 20 ? "timeout" : n % 18 === 4 ? "error" : "success";
  return draftInvoiceReader(random, { number: 50 + n, invoices: 2 + Math.floor(random.between(0, 9)), ending });
}

/** More traces lately than a month ago. */
function spreadOut(share: number, random: Random): number {
  return Math.min(1, Math.max(0, share ** 1.2 + random.between(-0.004, 0.004)));
}

/** Moves a start out of the night (UTC), since people give the agents their work. */
function atWork(trace: PlannedTrace): PlannedTrace {
  const hour = new Date(trace.startedAt).getUTCHours();
  return hour < 6 ? { ...trace, startedAt: trace.startedAt - 7 * hourMs } : trace;
}

function repeat<T>(count: number, make: (n: number) => T | undefined): T[] {
  return Array.from({ length: count }, (_, n) => make(n)).filter((it) => it !== undefined);
}

function shuffle<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((it) => ({ it, key: random.next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ it }) => it);
}

interface Recording {
  trace: { agent_id: string; name: string; started_at: string; metadata: Record<string, unknown> | null };
  spans: (Omit<DemoSpan, "startMs" | "endMs"> & { started_at: string; ended_at: string | null })[];
  final: { status: DemoTrace["status"]; ended_at: string };
}

async function readRecordings(file: URL): Promise<DemoTrace[]> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  return lines.map((line) => {
    const { trace, spans, final } = JSON.parse(line) as Recording;
    const start = Date.parse(trace.started_at);
    const offset = (time: string) => Date.parse(time) - start;
    return {
      agentId: trace.agent_id,
      name: trace.name,
      status: final.status,
      metadata: trace.metadata,
      endMs: offset(final.ended_at),
      spans: spans.map(({ started_at, ended_at, ...span }) => ({
        ...span,
        startMs: offset(started_at),
        endMs: ended_at === null ? null : offset(ended_at),
      })),
    };
  });
}
