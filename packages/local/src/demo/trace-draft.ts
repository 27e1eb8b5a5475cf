import type { Random } from "./random.js";

export interface DemoSpan {
  name: string;
  /** From the trace's start; a running span has no end. */
  startMs: number;
  endMs: number | null;
  input?: unknown;
  output?: unknown;
  error?: string | null;
  /** The place of the parent in the list of spans. */
  parent: number | null;
}

/** A trace with times from its own start. */
export interface DemoTrace {
  agentId: string;
  name: string;
  status: "running" | "success" | "error" | "timeout";
  metadata: object | null;
  /** Null while it runs. */
  endMs: number | null;
  spans: DemoSpan[];
}

interface Step {
  name: string;
  parent: number | null;
  ms: number;
  input?: unknown;
  output?: unknown;
  error?: string;
}

/** A trace in the making: each step starts where the one before ended. */
export interface TraceDraft {
  readonly spans: DemoSpan[];
  /** Moves the clock without a span. */
  wait(ms: number): void;
  now(): number;
  /** Sets the clock, for steps beside each other. */
  rewind(ms: number): void;
  /** Adds a step without children; returns its place. */
  step(step: Step): number;
  /** Begins a span with children; returns its place. */
  open(name: string, parent: number | null, input?: unknown): number;
  /** Ends it at the present moment. */
  close(place: number, end?: { output?: unknown; error?: string }): void;
}

export function createDraft(random: Random): TraceDraft {
  const spans: DemoSpan[] = [];
  let clock = 0;
  // Some milliseconds between two steps, as in a recording.
  const pause = () => {
    clock += random.between(1, 9);
  };
  return {
    spans,
    wait(ms) {
      clock += ms;
    },
    now: () => clock,
    rewind(ms) {
      clock = ms;
    },
    step({ ms, ...step }) {
      pause();
      spans.push({ ...step, startMs: clock, endMs: clock + ms });
      clock += ms;
      return spans.length - 1;
    },
    open(name, parent, input) {
      pause();
      spans.push({ name, parent, input, startMs: clock, endMs: null });
      return spans.length - 1;
    },
    close(place, end = {}) {
      pause();
      const span = spans[place];
      if (span) Object.assign(span, end, { endMs: clock });
    },
  };
}
