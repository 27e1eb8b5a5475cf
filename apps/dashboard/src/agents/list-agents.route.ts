import { pageRoute } from "@waymark/service/http";
import { maxDurations, readAgentDurations, readAgentFigures } from "@waymark/traces";
import type pg from "pg";
import { createAnswerCache } from "../answer-cache.js";
import { viewerOf } from "../session/viewer.js";
import { agentDays } from "./agent-days.js";
import type { AgentList, DurationList } from "./agents.schema.js";

interface Deps {
  pool: pg.Pool;
  now(): Date;
}

interface Figures<T> {
  path: string;
  read(days: { accountId: string } & ReturnType<typeof agentDays>): Promise<T>;
}

/** A route of figures of all agents of the viewer's account. */
function figuresRoute<T extends object>(now: () => Date, { path, read }: Figures<T>) {
  const cached = createAnswerCache<T>(now);
  return pageRoute({
    method: "get",
    path,
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      return { status: 200, body: await cached(accountId, () => read({ accountId, ...agentDays(now()) })) };
    },
  });
}

export function listAgentsRoute({ pool, now }: Deps) {
  return figuresRoute<AgentList>(now, {
    path: "/agents",
    read: async (days) => ({ from: days.from, to: days.to, agents: await readAgentFigures(pool, days) }),
  });
}

/** `GET /agent-durations`: apart, since they take longer. Below `/agents` it would hide an agent of that name. */
export function listDurationsRoute({ pool, now }: Deps) {
  return figuresRoute<DurationList>(now, {
    path: "/agent-durations",
    read: async (days) => ({ maxTraces: maxDurations, agents: await readAgentDurations(pool, days) }),
  });
}
