import { setTimeout as sleep } from "node:timers/promises";
import type { ListedTrace, TraceQuery, TraceStatus } from "@waymark/client";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Act, type CommandContext, interruptedExitCode, type Outcome } from "../command-context.js";
import { styleOf, toJsonLine } from "../terminal-text.js";
import { drawEvent, drawList } from "../trace-list-view.js";
import { addServiceOptions, connectService, explainCall, type ServiceOptions } from "../trace-service.js";
import { tailTraces } from "../trace-tail.js";
import { drawTrace } from "../trace-view.js";

const statuses: readonly TraceStatus[] = ["running", "success", "error", "timeout"];

/** What narrows a list; each is the query parameter of the same name. */
interface FilterOptions extends ServiceOptions {
  agent?: string;
  status?: TraceStatus[];
  name?: string;
}

interface ListOptions extends FilterOptions {
  from?: string;
  to?: string;
  minDuration?: number;
  limit: number;
}

/** `waymark trace list|show|tail`. */
export function addTraceCommands(program: Command, act: Act): void {
  const trace = program.command("trace").description("find traces, look at one, follow them, over HTTP and with a key");

  addFilters(trace.command("list").description("list traces, newest first"))
    .option("--from <time>", "the earliest start, such as 2026-05-01T00:00:00Z")
    .option("--to <time>", "the latest start, which itself is left out")
    .addOption(new Option("--min-duration <ms>", "only those that took at least so long").argParser(wholeNumber(0)))
    .addOption(new Option("--limit <n>", "at most so many").default(50).argParser(wholeNumber(1, 10_000)))
    .addHelpText("after", "\nExample:\n  $ waymark trace list --status error,timeout --agent billing-agent")
    .action(act(list));

  addServiceOptions(trace.command("show").description("draw a trace's spans as a tree, with bars for their time"))
    .argument("<trace-id>", "the trace's id")
    .addOption(
      new Option("--spans <n>", "draw at most so many spans").default(200).argParser(wholeNumber(1, 1_000_000)),
    )
    .option("--full", "show inputs, outputs and errors whole, and the ids of spans")
    .action(act(show));

  addFilters(trace.command("tail").description("print new traces and changes of status as they come, until Ctrl-C"))
    .addOption(
      new Option("--lines <n>", "begin with so many that are there already").default(10).argParser(wholeNumber(0, 200)),
    )
    .addHelpText("after", "\nWith --json each line is an object: event (new or changed), and the trace.")
    .action(act(tail));
}

function addFilters(command: Command): Command {
  return addServiceOptions(command)
    .option("--agent <id>", "only this agent's")
    .addOption(new Option("--status <status>", "only these, several by comma").argParser(parseStatuses))
    .option("--name <text>", "only those whose name contains this");
}

function toQuery({ agent, status, name }: FilterOptions): TraceQuery {
  return { ...(agent && { agent_id: agent }), ...(status && { status }), ...(name && { name }) };
}

async function list(context: CommandContext, options: ListOptions): Promise<Outcome> {
  const api = connectService(context.env, options);
  const { from, to, minDuration, limit } = options;
  const query = {
    ...toQuery(options),
    ...(from && { from }),
    ...(to && { to }),
    ...(minDuration !== undefined && { min_duration_ms: minDuration }),
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

async function show(
  context: CommandContext,
  id: string,
  options: ServiceOptions & { spans: number; full?: boolean },
): Promise<Outcome> {
  const api = connectService(context.env, options);
  try {
    const value = await api.getTrace(id);
    const drawing = { maxSpans: options.spans, isFull: options.full === true };
    return { value, text: drawTrace(value, styleOf(context.stdout, context.env), drawing) };
  } catch (error) {
    throw explainCall(error);
  }
}

async function tail(
  context: CommandContext,
  options: FilterOptions & { lines: number },
  command: Command,
): Promise<Outcome> {
  const api = connectService(context.env, options, { retries: 0 });
  const interrupt = context.catchInterrupts();
  const closed = new AbortController();
  // `waymark trace tail | head`: when nobody reads any more, there is nothing left to do.
  context.stdout.once("error", () => closed.abort()).once("close", () => closed.abort());
  const signal = AbortSignal.any([interrupt, closed.signal]);
  const isJson = command.optsWithGlobals<{ json?: boolean }>().json === true;
  const style = styleOf(context.stdout, context.env);
  const note = (text: string) => void context.stderr.write(`${text}\n`);
  try {
    await tailTraces({
      api,
      query: toQuery(options),
      lines: options.lines,
      signal,
      onEvent: ({ event, trace }) => {
        const line = isJson ? toJsonLine({ event, ...trace }) : drawEvent({ event, trace }, style);
        context.stdout.write(`${line}\n`);
      },
      onTrouble: (error) => note(`${(explainCall(error) as Error).message} Asking again.`),
      onRecovery: () => note("The trace API answers again."),
      sleep: (ms) => sleep(ms, undefined, { signal }),
    });
  } catch (error) {
    throw explainCall(error);
  }
  return interrupt.aborted ? { exitCode: interruptedExitCode } : {};
}

function parseStatuses(text: string): TraceStatus[] {
  const given = text.split(",").map((status) => status.trim());
  const known = statuses.filter((status) => given.includes(status));
  if (known.length === new Set(given).size) return known;
  throw new InvalidArgumentError(`It must be of ${statuses.join(", ")}.`);
}

function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}
