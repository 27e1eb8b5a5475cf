import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { utcMonth } from "@waymark/plan";
import { named, route } from "@waymark/service/http";
import {
  droppedNameSchema,
  instrumentations,
  keepModes,
  listDropped,
  maxListedNames,
  oneByOne,
  setKeep,
  type TimedBatching,
} from "@waymark/traces";
import { z } from "zod";

const keep = z.enum(keepModes).describe("Which new traces of OpenTelemetry are kept: all, or those of agents");
const leaveOut = z
  .array(z.enum(instrumentations))
  .max(20)
  .describe("Where those of agents are kept: instrumentations whose spans are left out below other spans");

/** What an account keeps, in answers. */
export const keptFields = { keep, leave_out: leaveOut };
const keptSchema = named("Kept", z.object(keptFields));
const changeSchema = named("AccountChange", z.object({ keep: keep.optional(), leave_out: leaveOut.optional() }));
const droppedSchema = named(
  "Dropped",
  z.object({
    month: z.string().describe("The current UTC month"),
    rows: z.array(droppedNameSchema).describe(`At most ${maxListedNames} names, the most frequent first`),
  }),
);

/** `PATCH /account`: changes what the account keeps. */
export function changeAccountRoute({ pool }: TimedBatching) {
  return route({
    method: "patch",
    scope: "all",
    path: "/account",
    operationId: "changeAccount",
    summary: "Change which traces of OpenTelemetry are kept",
    description:
      "Omitted fields stay unchanged. With `agents` a trace is kept, and counts, once it has a model, agent, tool, retrieval or evaluation span, or labels of its own. `leave_out` drops spans that succeeded, unless they are roots, entries of a service, or an agent's; spans below them keep their `parent_span_id`. The change takes up to a second to reach every instance.",
    body: changeSchema,
    bodyExample: { keep: "agents", leave_out: ["http", "fs"] },
    answers: {
      200: { description: "What is kept", schema: keptSchema, example: { keep: "agents", leave_out: ["fs", "http"] } },
    },
    async handle({ body, response }) {
      const kept = await setKeep(pool, principalOf(response).accountId, body);
      if (!kept) throw new AppError("invalid_api_key");
      return { status: 200, body: kept };
    },
  });
}

/** `GET /usage/dropped`: the traces that the account did not keep. */
export function listDroppedRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "list-dropped", listDropped);
  return route({
    method: "get",
    scope: "read",
    path: "/usage/dropped",
    operationId: "listDropped",
    summary: "List the month's traces that were not kept, by the name of their root",
    description:
      "The first 1,000 names of a month are told apart, by their first 200 characters. A row without a name has all other traces, so the sum is `dropped.traces` of `/usage`.",
    answers: {
      200: {
        description: "The traces by name",
        schema: droppedSchema,
        example: {
          month: "2026-01",
          rows: [
            { name: "GET /health", traces: 28_400 },
            { name: null, traces: 12 },
          ],
        },
      },
    },
    async handle({ response }) {
      const month = utcMonth(deps.now());
      const rows = await read({ accountId: principalOf(response).accountId, month: month.firstDay });
      return { status: 200, body: { month: month.label, rows } };
    },
  });
}
