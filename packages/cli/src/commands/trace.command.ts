import { setTimeout as sleep } from "node:timers/promises";
import type { ListedTrace, Span, Trace, TraceQuery, TraceStatus } from "@waymark/client";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseTime, type TimeArgument, timeForms, wholeNumber } from "../arguments/values.js";
import { type Act, type CommandContext, interruptedExitCode, type Outcome } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { styleOf, toJsonLine } from "../output/terminal-text.js";
import { findTraceId, isIdPart, matchesId } from "../traces/trace-id.js";
import { drawEvent, drawList } from "../traces/trace-list-view.js";
import {
  addServiceOptions,
  connectService,
  explainCall,
  keepAnswer,
  type ServiceOptions,
  serviceOf,
  withTexts,
} from "../traces/trace-service.js";
import { openTraceStream, tailTraces } from "../traces/trace-tail.js";
import { drawSpan, drawTrace } from "../traces/trace-view.js";

const statuses: readonly TraceStatus[] = ["running", "success", "error", "timeout"];

/** Filters of a list; each is the query parameter of the same name. */
interface FilterOptions extends ServiceOptions {
  agent?: string;
  status?: TraceStatus[];
  name?: string;
}

interface ListOptions extends FilterOptions {
  from?: TimeArgument;
  to?: TimeArgument;
  minDuration?: number;
  minCost?: string;
  limit: number;
}

interface ShowOptions extends ServiceOptions {
  spans: number;
  io?: true;
  full?: true;
  span?: string;
}

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
  $ waymark trace list --agent billing-agent --from 2026-05-01 --to 2026-05-02`;

/** `waymark trace list|show|tail`. */
export function addTraceCommands(program: Command, act: Act): void {
  const trace = program.command("trace").description("list traces, show one, follow new ones; over HTTP, with a key");

  addFilters(trace.command("list").description("list traces, newest first"))
    .option("--from <time>", `the earliest start: ${timeForms}`, parseTime)
    .option("--to <time>", "the time that all starts are before", parseTime)
    .addOption(new Option("--min-duration <ms>", "only traces of at least this duration").argParser(wholeNumber(0)))
    .addOption(
      new Option("--min-cost <dollars>", "only traces whose model calls cost at least this").argParser(dollars),
    )
    .addOption(new Option("--limit <n>", "the most traces to list").default(50).argParser(wholeNumber(1, 10_000)))
    .addHelpText("after", listHelp)
    .action(act(list));

  addServiceOptions(trace.command("show").description("draw a trace's spans as a tree, with bars for their time"))
    .argument("<trace-id>", "the trace's id, or at least 4 characters of its end or beginning")
    .addOption(new Option("--spans <n>", "the most spans to draw").default(200).argParser(wholeNumber(1, 1_000_000)))
    .option("--io", "print inputs, outputs and errors in full, and the whole ids of spans")
    .addOption(new Option("--full", "the same as --io").hideHelp())
    .option("--span <span-id>", "print one span alone, by its id or a part of it, in full")
    .addHelpText("after", showHelp)
    .action(act(show));

  addFilters(trace.command("tail").description("print new traces and changes of status until Ctrl-C"))
    .addOption(
      new Option("--lines <n>", "the number of earlier traces to begin with")
        .default(10)
        .argParser(wholeNumber(0, 200)),
    )
    .addHelpText("after", "\nWith --json each line is an object: the event (new or changed) and the trace.")
    .action(act(tail));
}

function addFilters(command: Command): Command {
  return addServiceOptions(command)
    .option("--agent <id>", "only this agent's traces")
    .addOption(new Option("--status <status>", "only these statuses, separated by commas").argParser(parseStatuses))
    .option("--name <text>", "only traces with this text in their name");
}

function toQuery({ agent, status, name }: FilterOptions): TraceQuery {
  return { ...(agent && { agent_id: agent }), ...(status && { status }), ...(name && { name }) };
}

async function list(context: CommandContext, options: ListOptions): Promise<Outcome> {
  const api = connectService(context.env, options);
  const { from, to, minDuration, minCost, limit } = options;
  const query = {
    ...toQuery(options),
    ...(from && { from: from(context.now()) }),
    ...(to && { to: to(context.now()) }),
    ...(minDuration !== undefined && { min_duration_ms: minDuration }),
    ...(minCost !== undefined && { min_cost: minCost }),
    limit: Math.min(limit, 200),
  };
  const value: ListedTrace[] = [];
  try {
    for await (const trace of api.iterateTraces(query)) if (value.push(trace) >= limit) break;
  } catch (error) {
    throw explainCall(error);
  }
  return { value, text: value.length > 0 ? drawList(value, styleOf(context.stdout, context.env)) : "There are none." };
}

async function show(context: CommandContext, text: string, options: ShowOptions): Promise<Outcome> {
  const answer = keepAnswer();
  const api = connectService(context.env, options, undefined, { fetch: answer.fetch });
  const style = styleOf(context.stdout, context.env);
  try {
    const parsed = await api.getTrace(await findTraceId(api, text), { include: "usage" });
    const { usage, ...rest } = withTexts(parsed, answer.text());
    const trace = usage && usage.models.length > 0 ? { ...rest, usage } : rest;
    if (options.span !== undefined) {
      const span = findSpan(trace, options.span);
      return { value: span, text: drawSpan(span, trace, style) };
    }
    const isFull = options.io === true || options.full === true;
    return { value: trace, text: drawTrace(trace, style, { maxSpans: options.spans, isFull }) };
  } catch (error) {
    throw explainCall(error);
  }
}

/** @throws CommandError when no span of the trace or several have the id or the part of one */
function findSpan(trace: Trace, text: string): Span {
  const isMatch = ({ id }: Span) => id === text || (isIdPart(text) && matchesId(id, text));
  const [span, ...others] = trace.spans.filter(isMatch);
  if (!span) throw new CommandError(`The trace has no span with the id '${text}'.`);
  if (others.length > 0) throw new CommandError(`Several spans have '${text}' in their id. Give more of one.`);
  return span;
}

async function tail(
  context: CommandContext,
  options: FilterOptions & { lines: number },
  command: Command,
): Promise<Outcome> {
  const api = connectService(context.env, options, { retries: 0 });
  const interrupt = context.catchInterrupts();
  const closed = new AbortController();
  // `waymark trace tail | head`: the reader has left.
  context.stdout.once("error", () => closed.abort()).once("close", () => closed.abort());
  const signal = AbortSignal.any([interrupt, closed.signal]);
  const isJson = command.optsWithGlobals<{ json?: boolean }>().json === true;
  const style = styleOf(context.stdout, context.env);
  const note = (text: string) => void context.stderr.write(`${text}\n`);
  try {
    const query = toQuery(options);
    await tailTraces({
      api,
      openStream: (lastId) => openTraceStream(serviceOf(context.env, options), query, { lastId, signal }),
      query,
      lines: options.lines,
      signal,
      onEvent: ({ event, trace }) => {
        const line = isJson ? toJsonLine({ event, ...trace }) : drawEvent({ event, trace }, style);
        context.stdout.write(`${line}\n`);
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
}

/** An amount as the trace API takes it. */
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
