import "./traces.css";
import { planOf } from "@waymark/plan";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Usage } from "../../src/billing/billing.route.js";
import type { CreatedKey, CreateKeyBody } from "../../src/keys/keys.route.js";
import type { TraceList } from "../../src/traces/traces.route.js";
import { api } from "../data/api.js";
import { useAction, useMayChange, useMe, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { takeChoiceKey, useChoice } from "../ui/choice.js";
import { CopyField } from "../ui/copy-button.js";
import { ExportMenu } from "../ui/export-menu.js";
import { TextField } from "../ui/form.js";
import { formatBytes, formatCount, formatDay, formatThings } from "../ui/format.js";
import { ActionError, Banner, Empty, ErrorNote, Page, Panel, Skeleton } from "../ui/page.js";
import { Pager } from "../ui/table.js";
import { useKeys } from "../ui/use-keys.js";
import { ChosenTraces } from "./chosen-traces.js";
import { partsFor, useColumns, writeColumns } from "./columns.js";
import { examplesOf } from "./examples.js";
import { activeFilters, exportPath, type Filters, pathOf, readFilters, writeFilters } from "./filters.js";
import { ColumnsButton, ViewsMenu } from "./list-menus.js";
import { TraceFilters } from "./trace-filters.js";
import { maxRows, type TraceListState } from "./trace-list.js";
import { type ColumnName, TracesTable } from "./traces-table.js";
import { useTraceList } from "./use-trace-list.js";

export function TracesPage() {
  const { url, route } = useLocation();
  const filters = readFilters(new URL(url, location.origin).search);
  const table = useRef<HTMLDivElement>(null);
  const { columns, keepColumns } = useColumns(filters.columns);
  const { state, list } = useTraceList(filters, partsFor(columns), table);
  const usage = useQuery<Usage>(state?.isLoaded ? "/usage" : undefined, { staleMs: 30_000, pollMs: 60_000 });
  const now = useNow();
  const choice = useChoice((state?.rows ?? []).map(({ id }) => id));
  useKeys((event) => takeChoiceKey(choice, event) || moveByKey(event));
  const setFilters = (next: Filters) => route(hrefOf(next), true);
  const isEmpty = state?.isLoaded === true && state.rows.length === 0 && state.cursor === null;
  const isFirst = isEmpty && activeFilters(filters).length === 0;
  const setColumns = (next: readonly ColumnName[]) => {
    keepColumns(next);
    if (filters.columns !== "") setFilters({ ...filters, columns: writeColumns(next) });
  };
  const actions = (
    <>
      <ViewsMenu query={writeFilters({ ...filters, after: "", columns: writeColumns(columns) })} />
      <ColumnsButton columns={columns} onColumns={setColumns} />
      {!isEmpty && <ExportMenu path={exportPath(filters, now)} />}
    </>
  );
  const live = state?.isLive && <span class="live">Live</span>;
  return (
    <Page title="Traces" aside={live} actions={!isFirst && actions}>
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
              These are older traces. <a href={hrefOf({ ...filters, after: "" })}>Back to the newest</a>
            </p>
          )}
          {isEmpty ? (
            <NoMatch filters={filters} />
          ) : (
            <Panel isFlush>
              <ChosenTraces choice={choice} onDeleted={() => void list.poll()} />
              {!state?.isLoaded && !state?.error && <Skeleton rows={10} />}
              {state && state.rows.length > 0 && (
                <TracesTable
                  rows={state.rows}
                  now={now}
                  retentionDays={usage.data?.retention_days}
                  body={table}
                  columns={columns}
                  choice={choice}
                />
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
      <Button text={count} look="main" onClick={onShow} />
    </div>
  );
}

const hrefOf = (filters: Filters) => `/dashboard/traces${writeFilters(filters)}`;

function End({ state, filters, onMore }: { state: TraceListState; filters: Filters; onMore(): void }) {
  if (state.cursor === null || !state.isLoaded || state.error) return null;
  if (state.rows.length < maxRows) return <Pager hasMore isLoading={state.isLoadingMore} more={onMore} />;
  return (
    <a class="pager" href={hrefOf({ ...filters, after: state.cursor })}>
      Older traces
    </a>
  );
}

const tickMs = 30_000;

function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function LimitLine({ usage: { traces, bytes } }: { usage: Usage }) {
  const { limit, current, resets_at } = traces;
  const count = `${formatCount(current)} of ${formatCount(limit)} traces`;
  const stored = `${formatBytes(bytes.current)} of ${formatBytes(bytes.limit)}`;
  const isFull = current >= limit;
  const isNear = (used: { limit: number; current: number }) => used.current >= used.limit * 0.8;
  const used = [isNear(traces) && !isFull && count, isNear(bytes) && stored].filter(Boolean).join(" and ");
  const link = <a href="/dashboard/billing">Plan and usage</a>;
  return (
    <>
      {isFull && (
        <Banner tone="error">
          New traces are refused: {count} of this month are used, until {formatDay(resets_at)}, 00:00 UTC. {link}
        </Banner>
      )}
      {used && (
        <p class="limit-line">
          {used} of this month are used. The count starts anew on {formatDay(resets_at)}, 00:00 UTC. {link}
        </p>
      )}
    </>
  );
}

function NoMatch({ filters }: { filters: Filters }) {
  const key = writeFilters(filters);
  const [best, setBest] = useState<Awaited<ReturnType<typeof findBest>>>();
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
          <a href={hrefOf(best.without)}>Drop “{best.label}”</a>
        </p>
      )}
    </Empty>
  );
}

async function findBest(filters: Filters, signal: AbortSignal) {
  const drops = await Promise.all(
    activeFilters(filters).map(async ({ label, without }) => {
      const path = pathOf(without, new Date(), { limit: 200, include: "labels" });
      const page = await api.get<TraceList>(path, signal).catch(() => ({ traces: [], nextCursor: null }));
      return { label, without, found: page.traces.length, hasMore: page.nextCursor !== null };
    }),
  );
  const weight = ({ found, hasMore }: (typeof drops)[number]) => found + (hasMore ? 1 : 0);
  return drops.sort((a, b) => weight(b) - weight(a))[0];
}

/** `/` searches, `j` and `k` go along the rows; Enter opens the focused link. */
function moveByKey({ key }: KeyboardEvent): boolean {
  const step = key === "j" ? 1 : key === "k" ? -1 : 0;
  if (key === "/") document.querySelector<HTMLInputElement>('input[type="search"]')?.select();
  if (step === 0) return key === "/";
  const rows = [...document.querySelectorAll<HTMLElement>(".trace-row a")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at === -1 ? rows.find((row) => row.getBoundingClientRect().top > 0) : rows[at + step];
  next?.focus({ preventScroll: true });
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
  return true;
}

const placeholder = "wmk_trace_…";
const defaultAgent = "first-agent";

function FirstTrace() {
  const me = useMe();
  const mayChange = useMayChange();
  const [agent, setAgent] = useState(defaultAgent);
  const newKey = { name: "First trace", service: "trace", scope: "ingest" } satisfies CreateKeyBody;
  const create = useAction(() => api.post<CreatedKey>("/keys", newKey));
  const key = create.output?.key;
  if (!me.data) return <Skeleton />;
  const url = me.data.traceApiUrl.replace(/\/$/, "");
  const examples = examplesOf({ url, key: key ?? placeholder, agent: agent.trim() || defaultAgent, now: new Date() });
  const hasOneAgent = planOf(me.data.account.plan).agents === 1;
  return (
    <div class="first-trace">
      <p class="row waiting-line">
        <span class="mark is-running is-live" /> Waiting for the first trace. This page turns into the list by itself.
        {mayChange && <a href="/dashboard/sites">A website first? Add it.</a>}
      </p>
      <ActionError of={create} />
      <Panel>
        <TextField
          label="Agent"
          value={agent}
          onValue={setAgent}
          autocomplete="off"
          maxlength={255}
          hint={
            hasOneAgent
              ? "The Free plan has one agent, and the first trace names it: use the name of your own agent."
              : undefined
          }
        />
        {mayChange && (
          <div class="row first-key">
            {key === undefined ? (
              <>
                <p>Every example needs a key of the trace API. This one sends, and reads nothing.</p>
                <Button
                  text="Fill in a new key"
                  look="main"
                  icon="keys"
                  isBusy={create.isBusy}
                  onClick={() => create.run()}
                />
              </>
            ) : (
              <p>
                The key “First trace” is filled in. Waymark shows it this once; <a href="/dashboard/keys">API keys</a>{" "}
                revokes it.
              </p>
            )}
          </div>
        )}
      </Panel>
      {examples.map(({ title, text }) => (
        <Panel key={title} title={title}>
          <CopyField label={`Example: ${title}`} value={text} lines={text.split("\n").length} />
        </Panel>
      ))}
    </div>
  );
}
