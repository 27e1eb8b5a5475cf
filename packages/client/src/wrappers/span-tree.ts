import { currentOrNew } from "../observe.js";
import type { EndOptions, SetOptions, SpanHandle, SpanOptions } from "../span-handle.js";

interface Run {
  readonly startedAt: Date;
  open(): { span: SpanHandle; end(isFailed: boolean): void } | undefined;
  hasPart: boolean;
}

/** Runs that never end are forgotten beyond this number. */
const maxRuns = 10_000;

/** Spans that a library tells by ids: below the span of the parent's id, else below the current span or in a trace of their own. */
export function createSpanTree(agentId: string | undefined) {
  const runs = new Map<string, Run>();

  /** A span whose options become known while it runs: it opens with the first one below it, or at its end. */
  function plan(id: string, parentId: string | undefined, name: () => string, options: () => SpanOptions): Run {
    const parent = runs.get(parentId ?? "");
    // The current span is that of the moment.
    const begun = parent ? undefined : currentOrNew(agentId, name());
    const startedAt = new Date();
    let opened: ReturnType<Run["open"]>;
    const open = () => {
      const span = opened?.span ?? (parent?.open()?.span ?? begun?.tracing)?.span(name(), { startedAt, ...options() });
      opened ??= span && { span, end: (isFailed) => begun?.end(isFailed) };
      return opened;
    };
    const [oldest] = runs.size >= maxRuns ? runs.keys() : [];
    if (oldest !== undefined) runs.delete(oldest);
    const run = { startedAt, open, hasPart: false };
    runs.set(id, run);
    return run;
  }
  return {
    plan,
    start(id: string, parentId: string | undefined, name: string, options: SpanOptions): void {
      plan(
        id,
        parentId,
        () => name,
        () => options,
      ).open();
    },
    set: (id: string, values: SetOptions) => void runs.get(id)?.open()?.span.set(values),
    /** A part of its answer arrived. */
    part(id: string): void {
      const run = runs.get(id);
      if (!run || run.hasPart) return;
      run.hasPart = true;
      const seconds = (Date.now() - run.startedAt.getTime()) / 1_000;
      run.open()?.span.set({ attributes: { "gen_ai.response.time_to_first_chunk": seconds } });
    },
    end(id: string, values: EndOptions = {}): void {
      const opened = runs.get(id)?.open();
      runs.delete(id);
      opened?.span.end(values);
      opened?.end(values.error !== undefined);
    },
  };
}
