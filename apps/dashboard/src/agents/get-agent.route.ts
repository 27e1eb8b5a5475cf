import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import {
  readAgentDurations,
  readAgentFigures,
  readDayDurations,
  readFailures,
  readNotes,
  readSlowest,
} from "@waymark/traces";
import type pg from "pg";
import { createAnswerCache } from "../answer-cache.js";
import { viewerOf } from "../session/viewer.js";
import { agentDays } from "./agent-days.js";
import type { AgentDetail } from "./agents.schema.js";
import { groupErrors } from "./group-errors.js";

const shownTraces = 10;
const maxGroupedFailures = 200;

/** `GET /agents/:agent_id`; an id is free text, percent-encoded in the path. */
export function getAgentRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  const cached = createAnswerCache<AgentDetail>(now);
  return pageRoute({
    method: "get",
    path: "/agents/:agent_id",
    async handle({ params, response }) {
      const { accountId } = viewerOf(response);
      const agent = params["agent_id"] ?? "";
      // A zero byte is no text to Postgres.
      if (agent.includes("\0")) throw new AppError("not_found");
      const days = agentDays(now());
      return {
        status: 200,
        body: await cached(`${accountId} ${agent}`, () => readAgent(pool, { accountId, agent, ...days })),
      };
    },
  });
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
