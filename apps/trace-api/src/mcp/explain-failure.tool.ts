import { setImmediate } from "node:timers/promises";
import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { maxCharsParameter, type ToolRead, toolRead } from "@waymark/service/mcp";
import {
  type Batching,
  fewWaiting,
  findLastSuccess,
  type ListedTrace,
  oneByOne,
  readFailingPath,
  readSteps,
  type StepTexts,
  summarizeTrace,
  type TracePageReader,
  type TraceSummary,
  textLabels,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { eitherIdParameter, findTraceId } from "../path-ids.js";
import {
  emptyStep,
  fitTexts,
  pathWithin,
  presentTrace,
  type Slot,
  summarySchema,
  toldStepSchema,
  toldTexts,
} from "./told-step.js";

const answer = z.object({
  trace: summarySchema,
  failing_path: z.array(toldStepSchema).describe("From the root to the failing step, which stands last"),
  last_success: z
    .object({ trace: summarySchema, steps: z.array(toldStepSchema).describe("Those with the names of the path's") })
    .nullable()
    .describe("The newest success of the same agent before this trace, else after it, rather of the same name"),
  differs: z.array(z.string()).describe("How the failed trace differs from that success"),
});

const query = z.object({ max_chars: maxCharsParameter });

interface Reading {
  accountId: string;
  traceId: string;
  maxChars: number;
  findSuccess(failed: ListedTrace): Promise<ListedTrace | undefined>;
}

/** Why a trace failed, beside the agent's last success. */
export function explainFailureRead(deps: Batching & { readTracePage: TracePageReader }): ToolRead {
  const explain = oneByOne(deps, "tool-explain-failure", explainFailure, fewWaiting);

  return toolRead({
    params: eitherIdParameter,
    query,
    answer,
    async handle({ params, query: { max_chars }, response }) {
      const { accountId } = principalOf(response);
      const traceId = await findTraceId(deps.pool, accountId, params);
      return explain({
        accountId,
        traceId,
        maxChars: max_chars,
        findSuccess: (failed) => findLastSuccess(deps.readTracePage, accountId, failed),
      });
    },
  });
}

/** The note and relative times. */
const margin = 1_200;
const maxDifferences = 20;

async function explainFailure(pool: pg.Pool, { accountId, traceId, maxChars, findSuccess }: Reading) {
  const characters = Math.floor(maxChars / 2);
  const failed = await summarizeTrace(pool, { accountId, traceId });
  if (!failed) throw new AppError("trace_not_found");
  const path = pathWithin(await readFailingPath(pool, { accountId, traceId, characters }), maxChars * 2);
  const found = await findSuccess(failed.trace);
  const success = found && (await summarizeTrace(pool, { accountId, traceId: found.id }));
  const named = success ? await readCounterparts(pool, { accountId, path, success, characters }) : [];
  const slots: Slot[] = [];
  const tell = (steps: readonly StepTexts[]) =>
    steps.map((step) => {
      const told = emptyStep(step);
      slots.push(...toldTexts(step, told));
      return told;
    });
  const explained = {
    trace: presentTrace(failed),
    failing_path: pathWithin(tell(path), Math.floor(maxChars / 3)),
    last_success: success ? { trace: presentTrace(success), steps: tell(named) } : null,
    differs: success ? differences(failed, success).slice(0, maxDifferences) : [],
  };
  await setImmediate();
  fitTexts(slots, maxChars - JSON.stringify(explained).length - margin);
  return explained;
}

interface Compared {
  accountId: string;
  path: readonly StepTexts[];
  success: TraceSummary;
  characters: number;
}

async function readCounterparts(pool: pg.Pool, { accountId, path, success, characters }: Compared) {
  const wanted = [path.at(0), path.at(-1)].flatMap((each) => (each ? [each.step] : []));
  const names = wanted.map(({ name }) => name);
  const found = await readSteps(pool, { accountId, traceId: success.trace.id, names, characters });
  const same = wanted.map((step) => found.find(({ step: { name, kind } }) => name === step.name && kind === step.kind));
  return [...new Set(same.flatMap((each) => each ?? []))];
}

function differences(failed: TraceSummary, success: TraceSummary): string[] {
  const [now, before] = [failed.trace, success.trace];
  const facts = (["name", ...textLabels] as const)
    .filter((label) => label !== "session_id" && now[label] !== before[label])
    .map((label) => `${label}: ${now[label] ?? "none"}, in the success ${before[label] ?? "none"}`);
  if (failed.models.join() !== success.models.join())
    facts.push(`models: ${failed.models.join(", ") || "none"}, in the success ${success.models.join(", ") || "none"}`);
  const [here, there] = [failed.steps, success.steps].map((steps) => new Map(steps.map((each) => [each.name, each])));
  const only = (some: typeof here, others: typeof here, where: string) =>
    [...(some?.values() ?? [])]
      .filter(({ name }) => !others?.has(name))
      .map(({ name, count, kind, status }) => `step only ${where}: ${name} (${kind}, ${status}, ${count} times)`);
  const ms = (trace: TraceSummary["trace"]) => (trace.duration_ms === null ? "no end" : `${trace.duration_ms} ms`);
  return [
    ...facts,
    `spans: ${failed.spans} of which ${failed.errors} failed, in the success ${success.spans} of which ${success.errors} failed`,
    `duration: ${ms(now)}, in the success ${ms(before)}`,
    ...only(here, there, "in the failed trace").slice(0, 8),
    ...only(there, here, "in the success").slice(0, 8),
  ];
}
