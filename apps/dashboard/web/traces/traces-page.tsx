import "./traces.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { formatCount, formatThings } from "../ui/format.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { ErrorNote, Skeleton } from "../ui/states.js";
import { Pager } from "../ui/table.js";
import { activeFilters, type Filters, noFilters, readFilters, writeFilters } from "./filters.js";
import { FirstTrace } from "./first-trace.js";
import { LimitLine, type TraceUsage } from "./limit-line.js";
import { NoMatch } from "./no-match.js";
import { TraceFilters } from "./trace-filters.js";
import { maxRows, type TraceListState } from "./trace-list.js";
import { TracesTable } from "./traces-table.js";
import { useKeys } from "./use-keys.js";
import { useTraceList } from "./use-trace-list.js";

export function TracesPage() {
  const { url, route } = useLocation();
  const filters = readFilters(new URL(url, location.origin).search);
  const table = useRef<HTMLDivElement>(null);
  const { state, list } = useTraceList(filters, table);
  const usage = useQuery<TraceUsage>(state?.isLoaded ? "/usage" : undefined, { staleMs: 30_000, pollMs: 60_000 });
  const now = useNow();
  useKeys();
  const setFilters = (next: Filters) => route(`/dashboard/traces${writeFilters(next)}`, true);
  const isEmpty = state?.isLoaded === true && state.rows.length === 0 && state.cursor === null;
  const isFirst = isEmpty && activeFilters(filters).length === 0;
  const live = state?.isLive && <span class="live">Live</span>;
  return (
    <Page title="Traces" aside={live}>
      {usage.data && <LimitLine usage={usage.data} />}
      {isFirst ? (
        <FirstTrace />
      ) : (
        <>
          <TraceFilters filters={filters} onFilters={setFilters} />
          {state?.error && <ErrorNote error={state.error} onRetry={() => void list.load()} />}
          <NewTraces state={state} onShow={() => void list.showWaiting().then(() => scrollTo(0, 0))} />
          {filters.after !== "" && (
            <p class="limit-line">
              These are older traces. <a href={newestHref(filters)}>Back to the newest</a>
            </p>
          )}
          {isEmpty ? (
            <NoMatch filters={filters} />
          ) : (
            <Panel isFlush>
              {!state?.isLoaded && !state?.error && <Skeleton rows={10} />}
              {state && state.rows.length > 0 && (
                <TracesTable rows={state.rows} now={now} retentionDays={usage.data?.retention_days} body={table} />
              )}
              {state && <End state={state} filters={filters} onMore={() => void list.more()} />}
            </Panel>
          )}
        </>
      )}
    </Page>
  );
}

function NewTraces({ state, onShow }: { state: TraceListState | undefined; onShow(): void }) {
  if (!state || state.waiting.length === 0) return null;
  const count = state.hasMoreWaiting
    ? `${formatCount(state.waiting.length)}+ new traces`
    : formatThings(state.waiting.length, "new trace");
  return (
    <div class="new-traces">
      <Button look="main" onClick={onShow}>
        {count}
      </Button>
    </div>
  );
}

function newestHref(filters: Filters): string {
  return `/dashboard/traces${writeFilters({ ...filters, after: noFilters.after })}`;
}

function End({ state, filters, onMore }: { state: TraceListState; filters: Filters; onMore(): void }) {
  if (state.cursor === null || !state.isLoaded || state.error) return null;
  if (state.rows.length < maxRows) return <Pager isLoading={state.isLoadingMore} onMore={onMore} />;
  return (
    <a class="pager" href={`/dashboard/traces${writeFilters({ ...filters, after: state.cursor })}`}>
      Older traces
    </a>
  );
}

const tickMs = 30_000;

/** The moment that "3 min ago" counts from. */
function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}
