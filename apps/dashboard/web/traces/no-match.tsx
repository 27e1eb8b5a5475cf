import { useEffect, useState } from "preact/hooks";
import type { TraceList } from "../../src/traces/traces.route.js";
import { api } from "../data/api.js";
import { Empty } from "../ui/states.js";
import { activeFilters, type Filters, pathOf, writeFilters } from "./filters.js";

interface Drop {
  label: string;
  without: Filters;
  /** Traces on the first page without this filter. */
  found: number;
  hasMore: boolean;
}

/** No trace has all of the filters: names the one that excludes most, with a link that drops it. */
export function NoMatch({ filters }: { filters: Filters }) {
  const key = writeFilters(filters);
  const [best, setBest] = useState<Drop>();
  useEffect(() => {
    const controller = new AbortController();
    setBest(undefined);
    void findBest(filters, controller.signal).then((drop) => !controller.signal.aborted && setBest(drop));
    return () => controller.abort();
  }, [key]);
  const active = activeFilters(filters);
  return (
    <Empty title="No trace matches">
      {best === undefined || best.found === 0 ? (
        <p>
          {active.length === 1 ? "The filter" : "Each filter"} leaves nothing.{" "}
          <a href="/dashboard/traces">Drop {active.length === 1 ? "it" : "all filters"}</a>
        </p>
      ) : (
        <p>
          “{best.label}” excludes most: {best.hasMore ? "more than " : ""}
          {best.found} {best.found === 1 && !best.hasMore ? "trace" : "traces"} without it.{" "}
          <a href={`/dashboard/traces${writeFilters(best.without)}`}>Drop “{best.label}”</a>
        </p>
      )}
    </Empty>
  );
}

/** Reads a first page without each filter. */
async function findBest(filters: Filters, signal: AbortSignal): Promise<Drop | undefined> {
  const drops = await Promise.all(
    activeFilters(filters).map(async ({ label, without }): Promise<Drop> => {
      const path = pathOf(without, new Date(), { limit: 200 });
      const page = await api.get<TraceList>(path, signal).catch(() => ({ traces: [], nextCursor: null }));
      return { label, without, found: page.traces.length, hasMore: page.nextCursor !== null };
    }),
  );
  const weight = ({ found, hasMore }: Drop) => found + (hasMore ? 1 : 0);
  return drops.sort((a, b) => weight(b) - weight(a))[0];
}
