import { readFile } from "node:fs/promises";
import type { BatchSpan, TraceStatus } from "@waymark/client";
import { createRandom, type Random } from "./random.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The time from the first trace to the first start: within 30 UTC days, after a move out of the night by 7 hours. */
const spanMs = 29 * dayMs - 7 * hourMs;

/** A span with times from its trace's start; a running one has no end. */
interface RecordedSpan extends Omit<BatchSpan, "started_at" | "ended_at" | "ref" | "parent_ref" | "parent_span_id"> {
  startMs: number;
  endMs: number | null;
  /** The place of the parent in the list of spans. */
  parent: number | null;
}

interface Recording {
  agentId: string;
  name: string;
  status: TraceStatus;
  metadata: Record<string, unknown> | null;
  endMs: number | null;
  spans: RecordedSpan[];
}

export interface PlannedTrace extends Recording {
  startedAt: number;
}

/** The traces of each agent over the month: its recordings in turns. */
const monthly: Readonly<Record<string, number>> = {
  "airline-support": 36,
  "repo-fixer": 20,
  "support-bot": 54,
  "market-research": 34,
  "invoice-reader": 36,
  "release-notes": 16,
};

/** The Pro account's traces: six agents, 200 traces, 24 of them failed, one running. */
export async function planProTraces(end: number): Promise<PlannedTrace[]> {
  const random = createRandom(1);
  const recordings = await readRecordings();
  const drafts = Object.entries(monthly).flatMap(([agentId, count]) => takeTurns(recordings, agentId, count));
  const newest = end - 2 * hourMs;
  const spread = shuffle(drafts, random).map((trace, index) => ({
    ...trace,
    startedAt: newest - spreadOut((drafts.length - 1 - index) / (drafts.length - 1), random) * (spanMs - 2 * hourMs),
  }));
  const latest = (await readLines<Recording & { agoMs: number }>("latest")).map(({ agoMs, ...trace }) => ({
    ...trace,
    startedAt: end - agoMs,
  }));
  return [...spread.map(atWork), ...latest].sort((a, b) => a.startedAt - b.startedAt);
}

export async function planFreeTraces(end: number): Promise<PlannedTrace[]> {
  const traces = takeTurns(await readRecordings(), "support-bot", 24);
  return traces.map((trace, n) => ({ ...trace, startedAt: end - (24 - n) * 20 * hourMs }));
}

function spreadOut(share: number, random: Random): number {
  return Math.min(1, Math.max(0, share ** 1.2 + random.between(-0.004, 0.004)));
}

/** Moves a start out of the night (UTC), since people give the agents their work. */
function atWork(trace: PlannedTrace): PlannedTrace {
  const hour = new Date(trace.startedAt).getUTCHours();
  return hour < 6 ? { ...trace, startedAt: trace.startedAt - 7 * hourMs } : trace;
}

function takeTurns(recordings: readonly Recording[], agentId: string, count: number): Recording[] {
  const own = recordings.filter((each) => each.agentId === agentId);
  return Array.from({ length: Math.ceil(count / own.length) }, () => own)
    .flat()
    .slice(0, count);
}

function shuffle<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((it) => ({ it, key: random.next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ it }) => it);
}

async function readRecordings(): Promise<Recording[]> {
  const names = ["tau-bench", "swe-agent", "openhands", "mini-swe-agent", "made-up"];
  return (await Promise.all(names.map((name) => readLines<Recording>(name)))).flat();
}

async function readLines<Line>(name: string): Promise<Line[]> {
  const text = await readFile(new URL(`../../assets/demo/${name}.traces.ndjson`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
