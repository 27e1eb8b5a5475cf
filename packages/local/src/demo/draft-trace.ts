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
  metadata: Record<string, unknown> | null;
  endMs: number | null;
  spans: DemoSpan[];
}

interface Step {
  input?: unknown;
  output?: unknown;
  error?: string | undefined;
  /** After this error the agent goes on. */
  isRetried?: boolean;
}

/** The error of a step; it ends the spans around the step, and the trace. */
class StepError extends Error {}

/** A trace in the making: each step starts where the one before ended. */
export class TraceDraft {
  readonly spans: DemoSpan[] = [];
  private clockMs = 0;
  private parent: number | null = null;

  constructor(private readonly random: Random) {}

  wait(ms: number): void {
    this.clockMs += ms;
  }

  /** Adds a span without children, of milliseconds between two. @throws StepError with the step's error */
  step(name: string, [low, high]: readonly [number, number], { input, output, error, isRetried }: Step): void {
    const span = this.open(name, input);
    this.wait(this.random.between(low, high));
    Object.assign(span, error === undefined ? { output } : { error }, { endMs: this.clockMs });
    if (error !== undefined && !isRetried) throw new StepError(error);
  }

  open(name: string, input: unknown): DemoSpan {
    this.pause();
    const span: DemoSpan = { name, parent: this.parent, input, startMs: this.clockMs, endMs: null };
    this.spans.push(span);
    return span;
  }

  /** Adds a span around others; its output is what the work returns. */
  within(name: string, input: unknown, work: (draft: this) => unknown): void {
    const span = this.open(name, input);
    const outer = this.parent;
    this.parent = this.spans.length - 1;
    try {
      span.output = work(this);
    } catch (error) {
      span.error = (error as StepError).message;
      throw error;
    } finally {
      this.pause();
      span.endMs = this.clockMs;
      this.parent = outer;
    }
  }

  /** Does works that begin together; each comes to its end before the error of one goes on. */
  beside(works: readonly (() => void)[]): void {
    const [began, ends, errors] = [this.clockMs, [] as number[], [] as unknown[]];
    for (const work of works) {
      this.clockMs = began;
      try {
        work();
      } catch (error) {
        errors.push(error);
      }
      ends.push(this.clockMs);
    }
    this.clockMs = Math.max(...ends);
    if (errors.length > 0) throw errors[0];
  }

  /** Some milliseconds between two steps, as in a recording. */
  private pause(): void {
    this.wait(this.random.between(1, 9));
  }
}

/** Drafts a trace below the span of its agent. An agent that runs has not closed this span. */
export function draftTrace(
  random: Random,
  { input, ...about }: Pick<DemoTrace, "agentId" | "name" | "status" | "metadata"> & { input: unknown },
  work: (draft: TraceDraft) => unknown,
): DemoTrace {
  const draft = new TraceDraft(random);
  try {
    draft.within(`agent: ${about.agentId}`, input, work);
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
  }
  const { spans } = draft;
  const [root] = spans;
  if (root && about.status === "running") Object.assign(root, { endMs: null, output: undefined });
  return { ...about, endMs: root?.endMs ?? null, spans };
}

export function chat(question: string, answer: string) {
  return { input: [{ role: "user", content: question }], output: { role: "assistant", content: answer } };
}
