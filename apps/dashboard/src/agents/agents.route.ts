import { AppError } from "@waymark/errors";
import {
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
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type { AgentFigures, AgentTrace } from "@waymark/traces";

export type AgentList = AnswerOf<typeof agentRoutes, "get /agents">;
export type DurationList = AnswerOf<typeof agentRoutes, "get /agent-durations">;
export type AgentDetail = AnswerOf<typeof agentRoutes, "get /agents/:agent_id">;

const shownTraces = 10;
const maxGroupedFailures = 200;

export function agentRoutes({ pool, now }: AppDeps) {
  const readList = createAnswerCache(now, async (accountId: string) => {
    const read = { accountId, ...agentDays(now()) };
    return { from: read.from, to: read.to, agents: await readAgentFigures(pool, read) };
  });
  const readDurations = createAnswerCache(now, async (accountId: string) => {
    return { maxTraces: maxDurations, agents: await readAgentDurations(pool, { accountId, ...agentDays(now()) }) };
  });
  const readOne = createAnswerCache(now, (accountId: string, agent: string) =>
    readAgent(pool, { accountId, agent, ...agentDays(now()) }),
  );
  return [
    viewerRoute("get", "/agents", { handle: ({ viewer }) => readList(viewer.accountId) }),
    /** Apart, since they take longer. Below `/agents` it would hide an agent of that name. */
    viewerRoute("get", "/agent-durations", { handle: ({ viewer }) => readDurations(viewer.accountId) }),
    /** An id is free text, percent-encoded in the path. */
    viewerRoute("get", "/agents/:agent_id", {
      async handle({ viewer: { accountId }, params: { agent_id: agent = "" } }) {
        // A zero byte is no text to Postgres.
        if (agent.includes("\0")) throw new AppError("not_found");
        return readOne(accountId, agent);
      },
    }),
  ];
}

type AgentToRead = ReturnType<typeof agentDays> & { accountId: string; agent: string };

async function readAgent(pool: pg.Pool, read: AgentToRead) {
  const { accountId, from, to } = read;
  const [figures] = await readAgentFigures(pool, read);
  if (!figures) throw new AppError("not_found");
  const failed = await readFailures(pool, { ...read, limit: maxGroupedFailures });
  const failedIds = failed.map(({ id }) => id);
  const notes = await readNotes(pool, accountId, failedIds);
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
function groupErrors(errors: readonly { traceId: string; error: string | null }[]) {
  const groups = new Map<string, { text: string; count: number; traceId: string }>();
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

function agentDays(now: Date) {
  const dayAt = (offset: number) => new Date(now.getTime() + offset * dayMs).toISOString().slice(0, 10);
  return { before: dayAt(1 - 2 * shownDays), from: dayAt(1 - shownDays), to: dayAt(1) };
}
