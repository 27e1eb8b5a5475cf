import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient, ListedTrace, Span, Trace, TraceQuery } from "@waymark/client";
import { addParameters, labelNames, type ParameterName, queryOf } from "../arguments/parameters.js";
import { wholeNumber } from "../arguments/values.js";
import type { Group, TopCommand } from "../context/command-builder.js";
import { interruptedExitCode } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { addServiceOptions, explainCall, onService, type Service } from "../context/service.js";
import { inWords, printable, styleOf, toJsonLine } from "../output/terminal-text.js";
import { withTexts } from "../traces/exact-texts.js";
import { findTraceId, isIdPart, matchesId } from "../traces/trace-id.js";
import { drawEvent, drawList } from "../traces/trace-list-view.js";
import { openTraceStream, tailTraces } from "../traces/trace-tail.js";
import { drawSpan, drawTrace } from "../traces/trace-view.js";

const listed: readonly ParameterName[] = [
  ...(["agent_id", "status", "name", ...labelNames, "q", "from", "to", "min_duration_ms", "min_cost"] as const),
];
const tailed: readonly ParameterName[] = ["agent_id", "status", "name"];

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

export function declareCommand(command: TopCommand): void {
  const trace = command.group();
  addListCommand(trace);
  addShowCommand(trace);
  addTailCommand(trace);
  addDeleteCommand(trace);
}

function addListCommand(trace: Group): void {
  addParameters(addServiceOptions(trace("list", "list traces, newest first", listHelp)), listed)
    .option("--limit <n>", "the most traces to list", { parse: wholeNumber(1, 10_000), default: 50 })
    .run((context, { limit, ...options }) =>
      onService(context, options, async ({ api }) => {
        const query = { ...(queryOf(options, listed, context.now()) as TraceQuery), limit: Math.min(limit, 200) };
        const value: ListedTrace[] = [];
        for await (const each of api.iterateTraces(query)) if (value.push(each) >= limit) break;
        const style = styleOf(context.stdout, context.env);
        return { value, text: value.length > 0 ? drawList(value, style) : "There are none." };
      }),
    );
}

function addShowCommand(trace: Group): void {
  addServiceOptions(trace("show", "draw a trace's spans as a tree, with bars for their time", showHelp))
    .argument("<trace-id>", "the trace's id, or at least 4 characters of its end or beginning")
    .option("--spans <n>", "the most spans to draw", { parse: wholeNumber(1, 1_000_000), default: 200 })
    .option("--io", "print inputs, outputs and errors in full, and the whole ids of spans")
    .option("--full", "the same as --io", { isHidden: true })
    .option("--span <span-id>", "print one span alone, by its id or a part of it, in full")
    .run((context, text, options) =>
      onService(context, options, async ({ api, lastText }) => {
        const style = styleOf(context.stdout, context.env);
        const parsed = await api.getTrace(await findTraceId(api, text), { include: "usage" });
        const { usage, ...rest } = withTexts(parsed, lastText());
        const value = usage && usage.models.length > 0 ? { ...rest, usage } : rest;
        if (options.span !== undefined) {
          const span = findSpan(value, options.span);
          return { value: span, text: drawSpan(span, value, style) };
        }
        const isFull = options.io === true || options.full === true;
        return { value, text: drawTrace(value, style, { maxSpans: options.spans, isFull }) };
      }),
    );
}

function addDeleteCommand(trace: Group): void {
  addServiceOptions(trace("delete", "delete a trace with its spans, by a key of the scope all"))
    .argument("<trace-id>", "the trace's id, or at least 4 characters of its end or beginning")
    .option("--yes", "do it")
    .run((context, text, { yes, ...options }) =>
      onService(context, options, async ({ api }) => {
        const id = await findTraceId(api, text);
        if (!yes) {
          const { agent_id, name, spans } = await api.getTrace(id);
          const what = `"${printable(name)}" of ${printable(agent_id)}, with ${inWords(spans.length, "span")}`;
          throw new CommandError(`This removes the trace ${id}, ${what}, for good. Add --yes to do it.`);
        }
        await api.deleteTrace(id);
        return { value: { ok: true }, text: `Removed the trace ${printable(id)}.` };
      }),
    );
}

function findSpan(trace: Trace, text: string): Span {
  const isMatch = ({ id }: Span) => id === text || (isIdPart(text) && matchesId(id, text));
  const [span, ...others] = trace.spans.filter(isMatch);
  if (!span) throw new CommandError(`The trace has no span with the id '${text}'.`);
  if (others.length > 0) throw new CommandError(`Several spans have '${text}' in their id. Give more of one.`);
  return span;
}

function addTailCommand(trace: Group): void {
  const about = "print new traces and changes of status until Ctrl-C";
  addParameters(addServiceOptions(trace("tail", about, tailHelp)), tailed)
    .option("--lines <n>", "the number of earlier traces to begin with", { parse: wholeNumber(0, 200), default: 10 })
    .run(async (context, options) => {
      const { env, stdout, stderr, isJson } = context;
      const interrupt = context.catchInterrupts();
      const closed = new AbortController();
      // `waymark trace tail | head`: the reader has left.
      stdout.once("error", () => closed.abort()).once("close", () => closed.abort());
      const signal = AbortSignal.any([interrupt, closed.signal]);
      const style = styleOf(stdout, env);
      const note = (text: string) => void stderr.write(`${text}\n`);
      const query = queryOf(options, tailed, context.now()) as TraceQuery;
      const tail = (service: Service & { api: ApiClient }) =>
        tailTraces({
          api: service.api,
          openStream: (lastId) => openTraceStream(service, query, { lastId, signal }),
          query,
          lines: options.lines,
          signal,
          onEvent: (told) => {
            const line = isJson ? toJsonLine({ event: told.event, ...told.trace }) : drawEvent(told, style);
            stdout.write(`${line}\n`);
          },
          onTrouble: (error) => note(`${(explainCall(error, service) as Error).message} Asking again.`),
          onRecovery: () => note("The trace API answers again."),
          onGap: () => note("The trace API no longer knows the last change: some may be missing here."),
          sleep: (ms) => sleep(ms, undefined, { signal }),
        });
      await onService(context, options, tail, { retry: { retries: 0 } });
      return interrupt.aborted ? { exitCode: interruptedExitCode } : {};
    });
}
