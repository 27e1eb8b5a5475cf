import { setTimeout as sleep } from "node:timers/promises";
import type { ListedTrace, Span, Trace, TraceQuery, TraceStatus } from "@waymark/client";
import { InvalidArgumentError } from "commander";
import { parseTime, timeForms, wholeNumber } from "../arguments/values.js";
import type { Group, Program } from "../context/command-builder.js";
import { interruptedExitCode } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { styleOf, toJsonLine } from "../output/terminal-text.js";
import { findTraceId, isIdPart, matchesId } from "../traces/trace-id.js";
import { drawEvent, drawList } from "../traces/trace-list-view.js";
import {
  addServiceOptions,
  connectService,
  explainCall,
  keepAnswer,
  serviceOf,
  withTexts,
} from "../traces/trace-service.js";
import { openTraceStream, tailTraces } from "../traces/trace-tail.js";
import { drawSpan, drawTrace } from "../traces/trace-view.js";

const statuses: readonly TraceStatus[] = ["running", "success", "error", "timeout"];

const showHelp = `
A short id from 'trace list' is enough: the command searches the newest 2,000 traces for it.

Examples:
  $ waymark trace show 0c07398f
  $ waymark trace show 0c07398f --io
  $ waymark trace show 0c07398f --span 5d1b22a0`;

const listHelp = `
Examples:
  $ waymark trace list --status error,timeout --from 2h
  $ waymark trace list --min-cost 0.5 --from 1d
  $ waymark trace list --user ann --environment production
  $ waymark trace list --agent billing-agent --from 2026-05-01 --to 2026-05-02`;

const tailHelp = "\nWith --json each line is an object: the event (new or changed) and the trace.";

export function addTraceCommands(program: Program): void {
  const trace = program.group("trace", "list traces, show one, follow new ones; over HTTP, with a key");
  addListCommand(trace);
  addShowCommand(trace);
  addTailCommand(trace);
}

/** Adds the filters of a list; each is the query parameter of the same name. */
function addFilters(command: ReturnType<Group>) {
  return addServiceOptions(command)
    .option("--agent <id>", "only this agent's traces")
    .option("--status <status>", "only these statuses, separated by commas", { parse: parseStatuses })
    .option("--name <text>", "only traces with this text in their name");
}

function toQuery({ agent, status, name }: { agent?: string; status?: TraceStatus[]; name?: string }): TraceQuery {
  return { ...(agent && { agent_id: agent }), ...(status && { status }), ...(name && { name }) };
}

function addListCommand(trace: Group): void {
  addFilters(trace("list", "list traces, newest first", listHelp))
    .option("--session <id>", "only traces of this conversation")
    .option("--user <id>", "only traces of this user")
    .option("--environment <name>", "only traces of this environment")
    .option("--release <name>", "only traces of this release")
    .option("--tag <tag>", "only traces with this tag")
    .option("--search <words>", 'only traces with all of these words, and "phrases", in their contents')
    .option("--from <time>", `the earliest start: ${timeForms}`, { parse: parseTime })
    .option("--to <time>", "the time that all starts are before", { parse: parseTime })
    .option("--min-duration <ms>", "only traces of at least this duration", { parse: wholeNumber(0) })
    .option("--min-cost <dollars>", "only traces whose model calls cost at least this", { parse: dollars })
    .option("--limit <n>", "the most traces to list", { parse: wholeNumber(1, 10_000), default: 50 })
    .run(async ({ env, stdout, now }, options) => {
      const { search, from, to, minDuration, minCost, limit, session, user, environment, release, tag } = options;
      const query = {
        ...toQuery(options),
        ...(session && { session_id: session }),
        ...(user && { user_id: user }),
        ...(environment && { environment }),
        ...(release && { release }),
        ...(tag && { tag }),
        ...(search && { q: search }),
        ...(from && { from: from(now()) }),
        ...(to && { to: to(now()) }),
        ...(minDuration !== undefined && { min_duration_ms: minDuration }),
        ...(minCost !== undefined && { min_cost: minCost }),
        limit: Math.min(limit, 200),
      };
      const value: ListedTrace[] = [];
      const api = connectService(env, options);
      try {
        for await (const listed of api.iterateTraces(query)) if (value.push(listed) >= limit) break;
      } catch (error) {
        throw explainCall(error);
      }
      return { value, text: value.length > 0 ? drawList(value, styleOf(stdout, env)) : "There are none." };
    });
}

function addShowCommand(trace: Group): void {
  addServiceOptions(trace("show", "draw a trace's spans as a tree, with bars for their time", showHelp))
    .argument("<trace-id>", "the trace's id, or at least 4 characters of its end or beginning")
    .option("--spans <n>", "the most spans to draw", { parse: wholeNumber(1, 1_000_000), default: 200 })
    .option("--io", "print inputs, outputs and errors in full, and the whole ids of spans")
    .option("--full", "the same as --io", { isHidden: true })
    .option("--span <span-id>", "print one span alone, by its id or a part of it, in full")
    .run(async ({ env, stdout }, text, options) => {
      const answer = keepAnswer();
      const api = connectService(env, options, undefined, { fetch: answer.fetch });
      const style = styleOf(stdout, env);
      try {
        const parsed = await api.getTrace(await findTraceId(api, text), { include: "usage" });
        const { usage, ...rest } = withTexts(parsed, answer.text());
        const value = usage && usage.models.length > 0 ? { ...rest, usage } : rest;
        if (options.span !== undefined) {
          const span = findSpan(value, options.span);
          return { value: span, text: drawSpan(span, value, style) };
        }
        const isFull = options.io === true || options.full === true;
        return { value, text: drawTrace(value, style, { maxSpans: options.spans, isFull }) };
      } catch (error) {
        throw explainCall(error);
      }
    });
}

function findSpan(trace: Trace, text: string): Span {
  const isMatch = ({ id }: Span) => id === text || (isIdPart(text) && matchesId(id, text));
  const [span, ...others] = trace.spans.filter(isMatch);
  if (!span) throw new CommandError(`The trace has no span with the id '${text}'.`);
  if (others.length > 0) throw new CommandError(`Several spans have '${text}' in their id. Give more of one.`);
  return span;
}

function addTailCommand(trace: Group): void {
  addFilters(trace("tail", "print new traces and changes of status until Ctrl-C", tailHelp))
    .option("--lines <n>", "the number of earlier traces to begin with", { parse: wholeNumber(0, 200), default: 10 })
    .run(async ({ env, stdout, stderr, isJson, catchInterrupts }, options) => {
      const api = connectService(env, options, { retries: 0 });
      const interrupt = catchInterrupts();
      const closed = new AbortController();
      // `waymark trace tail | head`: the reader has left.
      stdout.once("error", () => closed.abort()).once("close", () => closed.abort());
      const signal = AbortSignal.any([interrupt, closed.signal]);
      const style = styleOf(stdout, env);
      const note = (text: string) => void stderr.write(`${text}\n`);
      const query = toQuery(options);
      try {
        await tailTraces({
          api,
          openStream: (lastId) => openTraceStream(serviceOf(env, options), query, { lastId, signal }),
          query,
          lines: options.lines,
          signal,
          onEvent: (told) => {
            const line = isJson ? toJsonLine({ event: told.event, ...told.trace }) : drawEvent(told, style);
            stdout.write(`${line}\n`);
          },
          onTrouble: (error) => note(`${(explainCall(error) as Error).message} Asking again.`),
          onRecovery: () => note("The trace API answers again."),
          onGap: () => note("The trace API no longer knows the last change: some may be missing here."),
          sleep: (ms) => sleep(ms, undefined, { signal }),
        });
      } catch (error) {
        throw explainCall(error);
      }
      return interrupt.aborted ? { exitCode: interruptedExitCode } : {};
    });
}

function dollars(text: string): string {
  if (/^\d{1,9}(\.\d{1,12})?$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a decimal number of dollars, such as 0.25.");
}

function parseStatuses(text: string): TraceStatus[] {
  const given = text.split(",").map((status) => status.trim());
  const known = statuses.filter((status) => given.includes(status));
  if (known.length === new Set(given).size) return known;
  throw new InvalidArgumentError(`It must be of ${statuses.join(", ")}.`);
}
