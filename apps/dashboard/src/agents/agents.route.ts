import { AppError } from "@waymark/errors";
import {
  type AgentDurations,
  type AgentFigures,
  type AgentTrace,
  type DayDurations,
  maxDurations,
  readAgentDurations,
  readAgentFigures,
  readDayDurations,
  readFailures,
  readNotes,
  readSlowest,
} from "@waymark/traces";
import type pg from "pg";
import { createAnswerCache } from "../answer-cache.js";
import { viewerRoute } from "../session/viewer.js";

export type { AgentDurations, AgentFigures, AgentTrace } from "@waymark/traces";

/** The answer of `GET /agents`. */
export interface AgentList {
  /** The first day and the day after the last, UTC. */
  from: string;
  to: string;
  /** Those with most failures first, at most 200. */
  agents: AgentFigures[];
}

/** The answer of `GET /agent-durations`. */
export interface DurationList {
  /** The latest traces of the account that count, at most. */
  maxTraces: number;
  agents: AgentDurations[];
}

/** An error's text without its digits, and how often it came. */
interface ErrorGroup {
  text: string;
  count: number;
  /** The latest trace with it. */
  traceId: string;
}

/** The answer of `GET /agents/:id`. */
export interface AgentDetail {
  from: string;
  to: string;
  agent: AgentFigures;
  durations: AgentDurations | null;
  /** Of the days with ended traces, in order. */
  dayDurations: DayDurations[];
  slowest: AgentTrace[];
  failures: (AgentTrace & { error: string | null })[];
  /** Of the latest failures, {@link groupedFailures} of them. */
  errors: ErrorGroup[];
  groupedFailures: number;
}

const shownTraces = 10;
const maxGroupedFailures = 200;

export function agentRoutes({ pool, now }: { pool: pg.Pool; now(): Date }) {
  const cachedList = createAnswerCache<AgentList>(now);
  const cachedDurations = createAnswerCache<DurationList>(now);
  const cachedAgent = createAnswerCache<AgentDetail>(now);
  const asked = (accountId: string) => ({ accountId, ...agentDays(now()) });
  return [
    viewerRoute("get", "/agents", {
      handle: ({ viewer: { accountId } }) =>
        cachedList(accountId, async () => {
          const read = asked(accountId);
          return { from: read.from, to: read.to, agents: await readAgentFigures(pool, read) };
        }),
    }),
    /** Apart, since they take longer. Below `/agents` it would hide an agent of that name. */
    viewerRoute("get", "/agent-durations", {
      handle: ({ viewer: { accountId } }) =>
        cachedDurations(accountId, async () => ({
          maxTraces: maxDurations,
          agents: await readAgentDurations(pool, asked(accountId)),
        })),
    }),
    /** An id is free text, percent-encoded in the path. */
    viewerRoute("get", "/agents/:agent_id", {
      async handle({ viewer: { accountId }, params: { agent_id: agent = "" } }) {
        // A zero byte is no text to Postgres.
        if (agent.includes("\0")) throw new AppError("not_found");
        return cachedAgent(`${accountId} ${agent}`, () => readAgent(pool, { ...asked(accountId), agent }));
      },
    }),
  ];
}

interface AgentToRead {
  accountId: string;
  agent: string;
  before: string;
  from: string;
  to: string;
}

async function readAgent(pool: pg.Pool, read: AgentToRead): Promise<AgentDetail> {
  const { accountId, from, to } = read;
  const [figures] = await readAgentFigures(pool, read);
  if (!figures) throw new AppError("not_found");
  const failed = await readFailures(pool, { ...read, limit: maxGroupedFailures });
  const notes = await readNotes(
    pool,
    accountId,
    failed.map(({ id }) => id),
  );
  const slowest = await readSlowest(pool, { ...read, limit: shownTraces });
  const [durations = null] = await readAgentDurations(pool, read);
  const dayDurations = await readDayDurations(pool, read);
  const errors = new Map(notes.map(({ id, error }) => [id, error]));
  const errorOf = (id: string) => errors.get(id) ?? null;
  return {
    from,
    to,
    agent: figures,
    durations,
    dayDurations,
    slowest,
    failures: failed.slice(0, shownTraces).map((trace) => ({ ...trace, error: errorOf(trace.id) })),
    groupedFailures: failed.length,
    errors: groupErrors(failed.map(({ id }) => ({ traceId: id, error: errorOf(id) }))).slice(0, shownTraces),
  };
}

/** Groups errors by their text without digits, most frequent first; errors come latest first. */
function groupErrors(errors: readonly { traceId: string; error: string | null }[]): ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>();
  for (const { traceId, error } of errors) {
    const text = (error ?? "No error text").replace(/\d+/g, "…").trim();
    const group = groups.get(text);
    if (group) group.count++;
    else groups.set(text, { text, count: 1, traceId });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

const dayMs = 86_400_000;
const shownDays = 30;

/** The last 30 UTC days with today, and the 30 before. */
function agentDays(now: Date): { before: string; from: string; to: string } {
  const dayAt = (offset: number) => new Date(now.getTime() + offset * dayMs).toISOString().slice(0, 10);
  return { before: dayAt(1 - 2 * shownDays), from: dayAt(1 - shownDays), to: dayAt(1) };
}
