import "./statistics.css";
import { useMemo, useState } from "preact/hooks";
import type { SiteAi } from "../../src/statistics/statistics.route.js";
import { useQuery } from "../data/query.js";
import { formatCompact, formatCount, formatRevenue } from "../ui/format.js";
import { Empty, Loaded, MissingPage, Page, Panel } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import { aiPath, writeAddress } from "./address.js";
import { CostsPanel } from "./ai-costs.js";
import { Change } from "./change.js";
import { Chart, FigureButtons } from "./chart.js";
import { FilterRefusal, StatisticsChips } from "./filter-chips.js";
import { hasFilter, type PageFilters, toggleFilter } from "./filters.js";
import { RangeControls, useAddress } from "./range-controls.js";
import { ValueBar } from "./value-bar.js";

const pollMs = 60_000;

export function AiPage() {
  const { source, address, change, onFilters } = useAddress();
  const { filters } = address;
  const ai = useQuery<SiteAi>(aiPath(source, address), { keepPrevious: true, pollMs });
  const { data } = ai;
  const refusal = ai.error?.fields["filters"];
  if (ai.error?.status === 404) return <MissingPage title="Site not found" />;
  return (
    <Page
      title="AI"
      crumbs={
        <a href={`${source.page}${writeAddress({ ...address, filters: "" })}`}>{data?.site.domain ?? "Statistics"}</a>
      }
      note={data && `${data.days.first} to ${data.days.last}, UTC days, beside as many days before.`}
      actions={<RangeControls address={address} days={data?.days} onAddress={change} />}
    >
      <StatisticsChips filters={filters} onFilters={onFilters} />
      {refusal ? (
        <FilterRefusal text={refusal} />
      ) : (
        <Loaded of={ai}>
          {(loaded) =>
            isEmpty(loaded) && filters === "" ? (
              <NoMachines />
            ) : (
              <Report ai={loaded} filters={filters} onFilters={onFilters} />
            )
          }
        </Loaded>
      )}
    </Page>
  );
}

function isEmpty({ machines, engines, pages, costs }: SiteAi): boolean {
  return machines.length + engines.length + pages.length + costs.flatMap(({ rows }) => rows).length === 0;
}

function NoMachines() {
  return (
    <Empty title="No machine read the site in these days">
      <p>
        Crawlers run no script, so servers report them: <code>waymark import --follow access.log</code>, or a batch to{" "}
        <code>POST /api/requests</code> of the collector.
      </p>
    </Empty>
  );
}

const figureNames = ["crawled", "answered", "referred", "requests"] as const;
type FigureName = (typeof figureNames)[number];

const labels = {
  crawled: "Crawled",
  answered: "Answered",
  referred: "Referred visits",
  requests: "All requests of machines",
} as const satisfies Record<FigureName, string>;

const sumOf = (days: readonly Record<FigureName, number>[], name: FigureName) =>
  days.reduce((sum, day) => sum + day[name], 0);

function OverTime({ ai }: { ai: SiteAi }) {
  const [figure, setFigure] = useState<FigureName>("crawled");
  const { series = [], before, now } = ai;
  const figures = figureNames.map((name) => {
    const [total, past] = [sumOf(series, name), sumOf(before, name)];
    const change = <Change value={total} before={past} better="neither" />;
    return { name, label: labels[name], value: formatCount(total), change };
  });
  const curve = useMemo(() => {
    const times = series.map(({ day }) => String(day));
    const begun = times.filter((day) => day <= now.slice(0, 10));
    return {
      times,
      values: series.slice(0, begun.length).map((day) => day[figure]),
      isUnfinished: begun.at(-1) === now.slice(0, 10),
      before: before.map((day) => day[figure]),
      beforeTimes: before.map(({ day }) => String(day)),
    };
  }, [ai, figure]);
  const tick = (value: number) => (Number.isInteger(value) ? formatCompact(value) : "");
  return (
    <section class="panel is-flush" aria-label="Over time">
      <FigureButtons figures={figures} selected={figure} onSelect={(name) => setFigure(name)} />
      <Chart curve={curve} look={{ label: labels[figure], format: formatCount, tick }} />
    </section>
  );
}

const number = <Row,>(text: string, of: (row: Row) => number, isWide = false): Column<Row> => ({
  text,
  isNumber: true,
  isWide,
  cell: (row) => formatCount(of(row)),
});

type Engine = SiteAi["engines"][number];
type Machine = SiteAi["machines"][number];
type PageRow = SiteAi["pages"][number];
type Unvisited = Pick<PageRow, "path" | "crawled" | "answered">;

function ratioOf({ crawled, answered, referred }: Engine): string {
  if (referred === 0) return "No visit";
  return `${formatCount(Math.round((crawled + answered) / referred))} : 1`;
}

/** Names to filter by, over bars of what machines read of them. */
function named<Row extends { crawled: number; answered: number }>(
  head: { text: string; dimension: string; isMono?: boolean },
  { rows, textOf, filters, onFilters }: PageFilters & { rows: readonly Row[]; textOf(row: Row): string },
): Column<Row> {
  const { text, dimension, isMono = false } = head;
  const readOf = ({ crawled, answered }: Row) => crawled + answered;
  const largest = Math.max(1, ...rows.map(readOf));
  return {
    text,
    cell: (row) => (
      <ValueBar
        share={readOf(row) / largest}
        label={textOf(row)}
        isMono={isMono}
        isFiltered={hasFilter(filters, dimension, textOf(row))}
        onPick={textOf(row) === "(other)" ? undefined : () => onFilters(toggleFilter(filters, dimension, textOf(row)))}
      />
    ),
  };
}

const engineColumns: readonly Column<Engine>[] = [
  number("Crawled", ({ crawled }) => crawled),
  number("Answered", ({ answered }) => answered),
  number("Referred", ({ referred }) => referred),
  { text: "Requests per visit", isNumber: true, cell: ratioOf },
  number("Conversions", ({ conversions }) => conversions),
  {
    text: "Revenue",
    isNumber: true,
    cell: ({ revenue }) => formatRevenue(revenue) || "–",
  },
];

const machineColumns: readonly Column<Machine>[] = [
  { text: "Machine", cell: ({ name }) => (name === "other" ? "Outside the list" : name) },
  { text: "Operator", isWide: true, cell: ({ operator }) => operator || "–" },
  { text: "Purpose", cell: ({ purpose }) => purpose },
  number("Requests", ({ requests }) => requests),
  number("Pages", ({ pages }) => pages, true),
  number("Verified", ({ verified }) => verified),
  number("False claims", (row) => row.false),
  number("Not found", ({ missing }) => missing),
  number("Blocked", ({ blocked }) => blocked),
  number("Failed", ({ failed }) => failed),
];

const path: Column<{ path: string }> = { text: "Page", cell: (row) => <span class="mono">{row.path}</span> };
const visitors = number<{ visitors: number }>("Visitors", (row) => row.visitors);
const crawled = number<Unvisited>("Crawled", (row) => row.crawled);
const answered = number<Unvisited>("Answered", (row) => row.answered);
const unvisitedColumns: readonly Column<Unvisited>[] = [path, crawled, answered];
const unreadColumns: readonly Column<{ path: string; visitors: number }>[] = [path, visitors];
const pageColumns: readonly Column<PageRow>[] = [
  crawled,
  answered,
  number("Referred", (row) => row.referred),
  visitors,
  { text: "Read by", class: "readers", cell: ({ machines }) => readersOf(machines) },
];

const shownReaders = 2;

function readersOf(machines: PageRow["machines"]) {
  const says = machines.map(({ name, requests }) => `${name} ${formatCount(requests)}`);
  if (says.length === 0) return "–";
  const more = machines.length - shownReaders;
  const text = [...machines.slice(0, shownReaders).map(({ name }) => name), ...(more > 0 ? [`${more} more`] : [])];
  return <span title={says.join(", ")}>{text.join(", ")}</span>;
}

const maxRows = 20;

interface ListProps<Row> {
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  none: string;
  keyOf(row: Row): string;
}

function List<Row extends object>({ name, none, rows, ...table }: ListProps<Row>) {
  return (
    <Panel title={name} isFlush>
      {rows.length === 0 ? <p class="note card-title">{none}</p> : <Table name={name} rows={rows} {...table} isDense />}
    </Panel>
  );
}

function Report({ ai, ...filtering }: { ai: SiteAi } & PageFilters) {
  const { engines, machines, pages, unread = [], unvisited = [] } = ai;
  const shown = pages.slice(0, maxRows);
  const keyOf = (row: { path: string }) => row.path;
  const engine = named(
    { text: "Engine", dimension: "source" },
    { rows: engines, textOf: ({ name }) => name, ...filtering },
  );
  const page = named<PageRow>(
    { text: "Page", dimension: "page", isMono: true },
    { rows: shown, textOf: keyOf, ...filtering },
  );
  return (
    <>
      <OverTime ai={ai} />
      <List
        name="Engines"
        columns={[engine, ...engineColumns]}
        rows={engines}
        none="No engine read the site or sent a visit."
        keyOf={({ name }) => name}
      />
      <List
        name="Machines"
        columns={machineColumns}
        rows={machines}
        none="No machine read the site."
        keyOf={({ name, purpose }) => `${name} ${purpose}`}
      />
      {filtering.filters === "" && <CostsPanel siteId={ai.site.id} costs={ai.costs} />}
      <List name="Pages" columns={[page, ...pageColumns]} rows={shown} none="No page was read." keyOf={keyOf} />
      <List
        name="Read, not visited"
        columns={unvisitedColumns}
        rows={unvisited.slice(0, maxRows)}
        none="Each page that crawlers and assistants read has visitors."
        keyOf={keyOf}
      />
      <List
        name="Visited, not read"
        columns={unreadColumns}
        rows={unread.slice(0, maxRows)}
        none="Machines read each page with visitors."
        keyOf={keyOf}
      />
    </>
  );
}
