import { setTimeout as sleep } from "node:timers/promises";
import type { ListedTrace, TraceQuery, TraceStatus } from "@waymark/client";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Act, CommandContext, Outcome } from "../command-context.js";
import { formatTable } from "../table.js";
import { cutTo, fit, printable, styleOf, type TerminalStyle, toJsonLine } from "../terminal-text.js";
import { formatDuration } from "../time-text.js";
import { addServiceOptions, connectService, explainCall, type ServiceOptions } from "../trace-service.js";
import { type TailEvent, tailTraces } from "../trace-tail.js";
import { drawTrace } from "../trace-view.js";

const statuses: readonly TraceStatus[] = ["running", "success", "error", "timeout"];
const interruptedExitCode = 130;

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

function drawList(traces: readonly ListedTrace[], style: TerminalStyle): string {
  const rows = traces.map(({ id, started_at, duration_ms, status, agent_id, name }) => ({
    id,
    started: started_at,
    duration: duration_ms === null ? null : formatDuration(duration_ms * 1_000),
    status,
    agent: cutTo(printable(agent_id), 40),
    name,
  }));
  const table = formatTable(["id", "started", "duration", "status", "agent", "name"], rows);
  if (!style.isTerminal) return table;
  const lines = table.split("\n").map((line) => cutTo(line, style.width));
  return lines.map((line, n) => (isFailed(traces[n - 1]?.status) ? style.red(line) : line)).join("\n");
}

async function show(
  context: CommandContext,
  id: string,
  options: ServiceOptions & { spans: number },
): Promise<Outcome> {
  const api = connectService(context.env, options);
  try {
    const value = await api.getTrace(id);
    return { value, text: drawTrace(value, styleOf(context.stdout, context.env), options.spans) };
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

function drawEvent({ trace }: TailEvent, style: TerminalStyle): string {
  const { id, started_at, ended_at, duration_ms, status, agent_id, name } = trace;
  const line = [
    status === "running" ? started_at : (ended_at ?? started_at),
    status.padEnd(7),
    (duration_ms === null ? "-" : formatDuration(duration_ms * 1_000)).padStart(8),
    id,
    fit(printable(agent_id), 16),
    printable(name),
  ].join("  ");
  const cut = style.isTerminal ? cutTo(line, style.width) : line;
  return isFailed(status) ? style.red(cut) : cut;
}

function isFailed(status: TraceStatus | undefined): boolean {
  return status === "error" || status === "timeout";
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
