import { AppError } from "@waymark/errors";
import {
  maxDurations,
  readAgentDurations,
  readAgentFigures,
  readAgentNotes,
  readAgentScores,
  readFigures,
  readSeries,
  readSlowest,
  readTokensByAgent,
  seriesQuerySchema,
  seriesToRead,
  sumUsageWithFigures,
} from "@waymark/traces";
import type pg from "pg";
import { createAnswerCache } from "../answer-cache.js";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type { AgentFigures, AgentTrace } from "@waymark/traces";

export type AgentList = AnswerOf<typeof agentRoutes, "get /agents">;
export type DurationList = AnswerOf<typeof agentRoutes, "get /agent-durations">;
export type AgentDetail = AnswerOf<typeof agentRoutes, "get /agents/:agent_id">;
export type AgentScores = AnswerOf<typeof agentRoutes, "get /agents/:agent_id/scores">;

const shownTraces = 10;
/** Releases and environments of an answer: those with most traces. */
const maxValues = 100;

/** An id is free text, percent-encoded in the path. */
function agentOf({ agent_id: agent = "" }: Readonly<Record<string, string>>): string {
  // A zero byte is no text to Postgres.
  if (agent.includes("\0")) throw new AppError("agent_not_found");
  return agent;
}

type Asked = ReturnType<typeof seriesToRead>;

/** Keeps an agent's answer by everything that was asked, without the moment up to which an open range goes. */
function cacheOf<Answer>(now: () => Date, read: (asked: Asked) => Promise<Answer>) {
  const kept = createAnswerCache(now, (accountId: string, agentId: string, query: string) =>
    read({ ...seriesToRead({ accountId, agentId }, JSON.parse(query), now()), withProvisional: true }),
  );
  return (accountId: string, agentId: string, query: typeof seriesQuerySchema._output) =>
    kept(accountId, agentId, JSON.stringify({ ...query, from: query.from ?? firstDay(now()) }));
}

export function agentRoutes({ pool, now }: AppDeps) {
  const readList = createAnswerCache(now, async (accountId: string) => {
    const read = { accountId, ...agentDays(now()) };
    return { from: read.from, to: read.to, agents: await readAgentFigures(pool, read) };
  });
  const readDurations = createAnswerCache(now, async (accountId: string) => {
    return { maxTraces: maxDurations, agents: await readAgentDurations(pool, { accountId, ...agentDays(now()) }) };
  });
  const readOne = cacheOf(now, (asked) => readAgent(pool, asked));
  const readScores = cacheOf(now, async (asked) => {
    const scores = await readAgentScores(pool, asked);
    return { scores: scores ?? [], notes: scores ? await readAgentNotes(pool, asked) : [] };
  });
  return [
    viewerRoute("get", "/agents", { handle: ({ viewer }) => readList(viewer.accountId) }),
    /** Apart, since they take longer. Below `/agents` it would hide an agent of that name. */
    viewerRoute("get", "/agent-durations", { handle: ({ viewer }) => readDurations(viewer.accountId) }),
    viewerRoute("get", "/agents/:agent_id", {
      query: seriesQuerySchema,
      handle: async ({ viewer, params, query }) => readOne(viewer.accountId, agentOf(params), query),
    }),
    viewerRoute("get", "/agents/:agent_id/scores", {
      query: seriesQuerySchema,
      handle: async ({ viewer, params, query }) => readScores(viewer.accountId, agentOf(params), query),
    }),
  ];
}

/** The figures of the API's series, agents and usage, one after the other: an account takes one connection. */
async function readAgent(pool: pg.Pool, asked: Asked) {
  const { accountId, agentId, from, to, interval, labels } = asked;
  const read = { accountId, from, to, labels };
  // Refuses a range with too many traces or calls before anything else reads it.
  const releases = await sumUsageWithFigures(pool, { ...wholeDays(asked), dimension: "release", most: maxValues });
  const environments = await sumUsageWithFigures(pool, {
    ...wholeDays(asked),
    dimension: "environment",
    most: maxValues,
  });
  const found = await readSeries(pool, asked);
  if (!found) throw new AppError("agent_not_found");
  const figures = (await readFigures(pool, read, [agentId], labels)).get(agentId);
  const tokens = (await readTokensByAgent(pool, read, [agentId])).get(agentId);
  const slowest = await readSlowest(pool, { ...read, agentId, limit: shownTraces });
  return { from, to, interval, series: found.series, figures, tokens, releases, environments, slowest };
}

const dayMs = 86_400_000;
const shownDays = 30;

/** The days that a range touches, as model calls are summed. */
function wholeDays({ accountId, agentId, from, to, labels }: Asked) {
  const dayAt = (days: number) => new Date(days * dayMs).toISOString().slice(0, 10);
  const days = { from: dayAt(Math.floor(Date.parse(from) / dayMs)), to: dayAt(Math.ceil(Date.parse(to) / dayMs)) };
  return { accountId, agentId, ...days, labels };
}

function firstDay(now: Date): string {
  return new Date((Math.floor(now.getTime() / dayMs) - shownDays + 1) * dayMs).toISOString();
}

function agentDays(now: Date) {
  const dayAt = (offset: number) => new Date(now.getTime() + offset * dayMs).toISOString().slice(0, 10);
  return { before: dayAt(1 - 2 * shownDays), from: dayAt(1 - shownDays), to: dayAt(1) };
}
