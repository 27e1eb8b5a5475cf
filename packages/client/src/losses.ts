import { WaymarkLossError } from "./errors.js";
import { messageOf } from "./json-text.js";

export interface Counts {
  traces: number;
  spans: number;
}

export type Losses = ReturnType<typeof createLosses>;

/** Collects losses by cause, so that an unreachable service causes one report and not thousands. */
export function createLosses(onError: (error: WaymarkLossError) => void, onAdd: () => void) {
  const total: Counts = { traces: 0, spans: 0 };
  let collected = new Map<unknown, Counts>();
  return {
    total: total as Readonly<Counts>,
    get areUnreported() {
      return collected.size > 0;
    },
    add({ traces = 0, spans = 0 }: Partial<Counts>, cause: unknown): void {
      const counts = collected.get(cause) ?? { traces: 0, spans: 0 };
      collected.set(cause, counts);
      for (const sum of [counts, total]) {
        sum.traces += traces;
        sum.spans += spans;
      }
      onAdd();
    },
    report(): void {
      const reported = collected;
      collected = new Map();
      for (const [cause, counts] of reported) {
        const what = `${counts.traces} traces and ${counts.spans} spans could not be recorded`;
        try {
          onError(new WaymarkLossError(`${what}: ${messageOf(cause)}`, counts, { cause }));
        } catch {
          // An exception of the user's callback must not stop the recorded program.
        }
      }
    },
  };
}
