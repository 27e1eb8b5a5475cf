import "./costs.css";
import { useState } from "preact/hooks";
import type { Costs } from "../../src/costs/costs.route.js";
import { useQuery } from "../data/query.js";
import { Chart, FigureButtons } from "../statistics/chart.js";
import { formatCompact, formatCount, formatDay, formatDollars } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { Empty, Loaded, Page } from "../ui/page.js";
import { type Column, TablePanel } from "../ui/table.js";
import { Cost, MonoLink } from "../ui/usage.js";
import { costCurve, type FigureName, figureNames, figureOf, formatTick } from "./figures.js";

const choices = ["7", "30", "90"];

const counted = { format: formatCount, tick: formatCompact };
const looks = {
  cost: { label: "Cost", format: formatDollars, tick: formatTick },
  input: { label: "Input tokens", ...counted },
  output: { label: "Output tokens", ...counted },
  calls: { label: "Model calls", ...counted },
} as const;

export function CostsPage() {
  const { linkTo, filters, query } = useRecentDays(choices);
  const costs = useQuery<Costs>(`/costs${query}`, { keepPrevious: true });
  return (
    <Page
      title="Costs"
      note="Model calls by the UTC day of their span. Calls without a price count their tokens alone."
    >
      {filters}
      <Loaded of={costs}>
        {(loaded) =>
          loaded.total.calls === 0 ? (
            <NoCalls />
          ) : (
            <>
              <OverTime costs={loaded} />
              <CostTables costs={loaded} linkTo={(id) => linkTo({ agent: id })} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function NoCalls() {
  return (
    <Empty title="No model calls in these days">
      <p>
        A call appears with the first span whose attributes name a model and its tokens, such as{" "}
        <code>gen_ai.usage.input_tokens</code>.
      </p>
    </Empty>
  );
}

function OverTime({ costs }: { costs: Costs }) {
  const [figure, setFigure] = useState<FigureName>("cost");
  const textOf = (name: FigureName) =>
    name === "cost" && costs.total.cost_usd === null ? "No price" : looks[name].format(figureOf(costs.total, name));
  const figures = figureNames.map((name) => ({ name, label: looks[name].label, value: textOf(name) }));
  return (
    <section class="panel is-flush" aria-label="Over time">
      <FigureButtons figures={figures} selected={figure} onSelect={(name) => setFigure(name)} />
      <Chart curve={costCurve(costs, figure, new Date().toISOString())} look={looks[figure]} />
    </section>
  );
}

const noPrice = <span class="soft">No price</span>;

function countColumn(text: string, by: (sums: Costs["total"]) => number): Column<Costs["total"]> {
  return { text, isNumber: true, by, cell: (sums) => formatCount(by(sums)) };
}

const sumColumns: readonly Column<Costs["total"]>[] = [
  countColumn("Calls", ({ calls }) => calls),
  countColumn("Input tokens", ({ input_tokens }) => input_tokens),
  countColumn("Cached input", ({ cached_input_tokens }) => cached_input_tokens),
  countColumn("Output tokens", ({ output_tokens }) => output_tokens),
  {
    text: "Cost",
    isNumber: true,
    by: ({ cost_usd: usd }) => usd && Number(usd),
    cell: ({ cost_usd: usd }) => (usd === null ? noPrice : <Cost usd={usd} />),
  },
];

const nameOf = ({ model, provider }: Costs["models"][number]) => `${model ?? "No name"} ${provider ?? ""}`;

function CostTables({ costs, linkTo }: { costs: Costs; linkTo(agent: string): string }) {
  const { models, agents, series } = costs;
  const model: Column<(typeof models)[number]> = {
    text: "Model",
    by: nameOf,
    cell: ({ model: name, provider }) => (
      <>
        <span class="mono">{name ?? "No name"}</span>
        {provider !== null && <span class="soft"> {provider}</span>}
      </>
    ),
  };
  const agent: Column<(typeof agents)[number]> = {
    text: "Agent",
    by: ({ agent_id: id }) => id,
    cell: ({ agent_id: id }) => <MonoLink href={linkTo(id)} text={id} />,
  };
  const day: Column<(typeof series)[number]> = {
    text: "Day",
    by: (sums) => sums.day,
    cell: (sums) => formatDay(sums.day),
  };
  return (
    <div class="costs">
      <SumTable name="Models" column={model} rows={models} keyOf={nameOf} textOf={nameOf} />
      <SumTable
        name="Agents"
        column={agent}
        rows={agents}
        keyOf={(sums) => sums.agent_id}
        textOf={(sums) => sums.agent_id}
      />
      <SumTable name="Days" column={day} rows={series.toReversed()} keyOf={(sums) => sums.day} />
    </div>
  );
}

interface SumTableProps<Row> {
  name: string;
  column: Column<Row>;
  rows: readonly Row[];
  keyOf(row: Row): string;
  textOf?(row: Row): string;
}

function SumTable<Row extends Costs["total"]>({ column, ...table }: SumTableProps<Row>) {
  return <TablePanel columns={[column, ...sumColumns]} {...table} isDense isCards />;
}
