import type { Costs } from "../src/costs/costs.route.js";
import type { FailureList, ListedFailure } from "../src/failures/failures.route.js";
import type { ListedSite, SiteList } from "../src/sites/sites.route.js";
import type { SiteStats } from "../src/statistics/statistics.route.js";
import { finishedBeside } from "./costs/figures.js";
import { useQuery } from "./data/query.js";
import { FailureText } from "./failures/failure-text.js";
import { siteColumn } from "./sites/site-column.js";
import { Change } from "./statistics/change.js";
import { Ago } from "./ui/ago.js";
import { ValueBars } from "./ui/day-bars.js";
import { formatCount, formatDay, formatDollars, formatThings } from "./ui/format.js";
import { firstOf } from "./ui/list-filters.js";
import { Empty, ErrorNote, Figure, Page, Panel, Skeleton } from "./ui/page.js";
import { type Column, Table } from "./ui/table.js";

/** The first page: what is new since yesterday; of an empty account, where to begin. */
export function HomePage() {
  const traces = useQuery<{ traces: readonly object[] }>("/traces?limit=1");
  const sites = useQuery<SiteList>("/sites");
  const retry = () => {
    traces.refetch();
    sites.refetch();
  };
  const error = traces.error ?? sites.error;
  if (traces.data && sites.data) {
    const hasTraces = traces.data.traces.length > 0;
    if (!hasTraces && sites.data.sites.length === 0) return <Beginning />;
    return (
      <Page title="Today" note={`Since ${formatDay(firstOf(2))}. UTC days.`}>
        {hasTraces && <NewFailures />}
        {hasTraces && <Spent />}
        {sites.data.sites.length > 0 && <Sites sites={sites.data.sites} />}
      </Page>
    );
  }
  if (!error) return <Skeleton />;
  return (
    <Page title="This page did not load">
      <ErrorNote error={error} onRetry={retry} />
    </Page>
  );
}

function Beginning() {
  return (
    <Page title="What do you want to see first?">
      <Panel title="An agent’s runs" actions={<a href="/dashboard/traces">Send the first run</a>}>
        <p>What it did, what failed, and what it cost. A failed run is mailed to you.</p>
      </Panel>
      <Panel title="A site’s visitors" actions={<a href="/dashboard/sites">Add a site</a>}>
        <p>Visitors, sources, goals, and what AI reads. No cookies, no banner.</p>
      </Panel>
    </Page>
  );
}

const mostFailures = 200;
const shownFailures = 8;

const failureColumns: readonly Column<ListedFailure>[] = [
  {
    text: "Failure",
    class: "wrap failure-text",
    cell: (failure) => <FailureText of={failure}> of {failure.agent_id}</FailureText>,
  },
  { text: "Traces", isNumber: true, cell: ({ count }) => formatCount(count) },
  { text: "Last", isWide: true, cell: ({ last_at }) => <Ago iso={last_at} /> },
];

/** Those whose first trace in 30 days failed since yesterday, among the most frequent ones. */
function NewFailures() {
  const { data, error, refetch } = useQuery<FailureList>(`/failures?limit=${mostFailures}`);
  const since = firstOf(2);
  const found = data?.failures.filter(({ first_at, muted_until }) => first_at >= since && muted_until === null);
  return (
    <Panel title="New failures" isFlush actions={<a href="/dashboard/failures">All failures</a>}>
      {found && found.length > 0 && (
        <Table
          isRoomy
          narrowPx={600}
          name="New failures"
          columns={failureColumns}
          rows={found.slice(0, shownFailures)}
        />
      )}
      {found?.length === 0 && <Empty title="No new failures" text="Nothing failed that had not failed before." />}
      {found && found.length > shownFailures && (
        <p class="soft pager">{formatThings(found.length - shownFailures, "further one", "further ones")}</p>
      )}
      {!found && (error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={2} />)}
    </Panel>
  );
}

/** Seven finished days, against the seven before, and the present one. */
const spentDays = 8;

function Spent() {
  const { data } = useQuery<Costs>(`/costs?from=${firstOf(spentDays)}`);
  if (!data || data.total.calls === 0) return null;
  const compared = finishedBeside(data, "cost", new Date().toISOString());
  return (
    <Panel title="Model calls, a week to today" actions={<a href="/dashboard/costs">All costs</a>}>
      <dl class="row trace-facts">
        <Figure
          label="Cost"
          value={
            <>
              {data.total.cost_usd === null ? "No price" : formatDollars(Number(data.total.cost_usd))}{" "}
              {compared && <Change {...compared} better="low" />}
            </>
          }
        />
        <Figure label="Calls" value={formatCount(data.total.calls)} />
        <Figure label="Input tokens" value={formatCount(data.total.input_tokens)} />
        <Figure label="Output tokens" value={formatCount(data.total.output_tokens)} />
      </dl>
    </Panel>
  );
}

const siteColumns: readonly Column<ListedSite>[] = [
  siteColumn,
  { text: "Visitors in 7 days", cell: ({ id }) => <Visitors siteId={id} /> },
];

function Sites({ sites }: { sites: readonly ListedSite[] }) {
  const latest = sites.toSorted((a, b) => (b.lastDay ?? "").localeCompare(a.lastDay ?? ""));
  return (
    <Panel title="Sites" isFlush actions={<a href="/dashboard/sites">All sites</a>}>
      <Table
        isCards
        name="Sites"
        columns={siteColumns}
        rows={latest}
        textOf={({ name, domain }) => `${name} ${domain}`}
      />
    </Panel>
  );
}

function Visitors({ siteId }: { siteId: string }) {
  const { data, error } = useQuery<SiteStats>(`/sites/${siteId}/stats?lists=browsers&limit=1`);
  if (!data) return <span class="soft">{error ? error.message : "…"}</span>;
  const { totals, series, comparison } = data.overview;
  const values = series.map(({ visitors }) => visitors);
  return (
    <span class="row">
      <ValueBars values={values} most={Math.max(1, ...values)} label={`Visitors by day: ${values.join(", ")}`} />
      <strong>{formatCount(totals.visitors)}</strong>
      <Change value={totals.visitors} before={comparison?.totals.visitors} />
    </span>
  );
}
