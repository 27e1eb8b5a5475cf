import { useState } from "preact/hooks";
import type { SiteAi } from "../../src/statistics/statistics.route.js";
import { Segmented } from "../ui/choices.js";
import { formatCount, formatDollars, formatDuration, formatRevenue } from "../ui/format.js";
import { Panel } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";

type Costs = SiteAi["costs"][number];
type Row = Costs["rows"][number];

const names = {
  channel: { label: "Channel", none: "None" },
  source: { label: "Source", none: "Direct" },
  page: { label: "Entry page", none: "None" },
  goal: { label: "Goal", none: "None" },
} as const satisfies Record<Costs["by"], { label: string; none: string }>;

const choices = Object.entries(names).map(([value, { label }]) => ({ value: value as Costs["by"], label }));

const count = (text: string, of: (row: Row) => number): Column<Row> => ({
  text,
  isNumber: true,
  cell: (row) => formatCount(of(row)),
});

const figures: readonly Column<Row>[] = [
  count("Visits", ({ visits }) => visits),
  count("Runs", ({ runs }) => runs),
  count("Failed", ({ failures }) => failures),
  { text: "Time per run", isNumber: true, cell: ({ duration_ms: ms, runs }) => formatDuration(ms / runs) },
  { text: "Cost", isNumber: true, cell: ({ cost_usd: cost }) => formatDollars(Number(cost)) },
  { text: "Per visit", isNumber: true, cell: ({ cost_usd: cost, visits }) => formatDollars(Number(cost) / visits) },
  count("Conversions", ({ conversions }) => conversions),
  {
    text: "Revenue",
    isNumber: true,
    cell: ({ revenue }) => formatRevenue(revenue) || "–",
  },
];

/** What the site's agents cost for visits, beside what those brought. */
export function CostsPanel({ siteId, costs }: { siteId: string; costs: SiteAi["costs"] }) {
  const [by, setBy] = useState<Costs["by"]>("channel");
  const rows = costs.find((each) => each.by === by)?.rows ?? [];
  const { label, none } = names[by];
  const value: Column<Row> = { text: label, cell: (row) => row.value || none };
  return (
    <Panel title="What visits cost" isFlush>
      <div class="costs-note">
        <Segmented label="By" value={by} choices={choices} onValue={(next) => setBy(next)} />
      </div>
      {rows.length === 0 ? (
        <p class="costs-note soft">
          No sums in these days. The worker sums a day the night after, where at least five visitors asked your agents.{" "}
          <a href={`/dashboard/sites/${siteId}/settings`}>The site’s settings</a> switch it on.
        </p>
      ) : (
        <>
          <Table
            name={`What visits cost, by ${label.toLowerCase()}`}
            columns={[value, ...figures]}
            rows={rows}
            keyOf={(row) => row.value}
            isDense
          />
          <p class="costs-note soft">
            Visits for which your agents ran, in groups of at least five visitors of a day. Smaller ones count as{" "}
            <code>(other)</code>, so nothing here is about one person.
          </p>
        </>
      )}
    </Panel>
  );
}
