import "./costs.css";
import { useState } from "preact/hooks";
import type { Costs, DearestTraces } from "../../src/costs/costs.route.js";
import { RulesPanel, useMayChangeRules } from "../channels/rules.js";
import { useQuery } from "../data/query.js";
import { Change } from "../statistics/change.js";
import { Chart, FigureButtons } from "../statistics/chart.js";
import { Ago } from "../ui/ago.js";
import { ValueBars } from "../ui/day-bars.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatCompact, formatCount, formatDay, formatDollars, formatShortDay, formatThings } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { Banner, Empty, Loaded, Page, Panel } from "../ui/page.js";
import { type Column, Stacked, Table, TablePanel } from "../ui/table.js";
import { Cost, MonoLink, Tokens } from "../ui/usage.js";
import {
  begunDays,
  costCurve,
  type FigureName,
  figureNames,
  figureOf,
  finishedBeside,
  formatTick,
  valuesOn,
} from "./figures.js";

const choices = ["7", "30", "90"];

const counted = { format: formatCount, tick: formatCompact };
const looks = {
  cost: { label: "Cost", format: formatDollars, tick: formatTick },
  input: { label: "Input tokens", ...counted },
  output: { label: "Output tokens", ...counted },
  calls: { label: "Model calls", ...counted },
} as const;

export function CostsPage() {
  const { agent, linkTo, filters, query } = useRecentDays(choices);
  const costs = useQuery<Costs>(`/costs${query}`, { keepPrevious: true });
  const mayChange = useMayChangeRules();
  return (
    <Page
      title="Costs"
      note="Model calls by the UTC day of their span. Changes are of finished days, against as many days before."
      actions={<ExportMenu path={`/exports/costs${query}`} />}
    >
      {filters}
      <Loaded of={costs}>
        {(loaded) =>
          loaded.total.calls === 0 ? (
            <NoCalls />
          ) : (
            <>
              {loaded.total.cost_usd === null && <NoPrices />}
              <OverTime costs={loaded} />
              {loaded.total.cost_usd !== null && <Dearest path={`/costs/traces${query}`} />}
              <RulesPanel
                title="Budgets of the month"
                mayChange={mayChange}
                shows={(rule) => rule.cost_per === "month" && (agent === "" || rule.agent_id === agent)}
                initial={{ about: "month", agent }}
              />
              <AgentsAndDays costs={loaded} linkTo={(id) => linkTo({ agent: id })} />
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

function NoPrices() {
  return (
    <Banner>
      No model of these days has a known price, so tokens count alone. A span may tell its cost itself, by{" "}
      <code>gen_ai.usage.cost</code>.
    </Banner>
  );
}

function OverTime({ costs }: { costs: Costs }) {
  const [figure, setFigure] = useState<FigureName>(costs.total.cost_usd === null ? "input" : "cost");
  const now = new Date().toISOString();
  const textOf = (name: FigureName) =>
    name === "cost" && costs.total.cost_usd === null ? "No price" : looks[name].format(figureOf(costs.total, name));
  const figures = figureNames.map((name) => {
    const compared = finishedBeside(costs, name, now);
    const change = compared && <Change {...compared} better={name === "cost" ? "low" : "neither"} />;
    return { name, label: looks[name].label, value: textOf(name), change };
  });
  return (
    <>
      <section class="panel is-flush" aria-label="Over time">
        <FigureButtons figures={figures} selected={figure} onSelect={(name) => setFigure(name)} />
        <Chart curve={costCurve(costs, figure, now)} look={looks[figure]} />
      </section>
      <Models costs={costs} figure={figure} days={begunDays(costs, now)} />
    </>
  );
}

type DearestTrace = DearestTraces["traces"][number];

const dearestColumns: readonly Column<DearestTrace>[] = [
  {
    text: "Trace",
    class: "is-stacked",
    cell: ({ id, name, agent_id }) => (
      <Stacked below={agent_id}>
        <a href={`/dashboard/traces/${id}`}>{name}</a>
      </Stacked>
    ),
  },
  { text: "Started", cell: ({ started_at }) => <Ago iso={started_at} /> },
  { text: "Tokens", isNumber: true, cell: (trace) => <Tokens of={trace} /> },
  { text: "Cost", isNumber: true, cell: ({ cost_usd }) => <Cost usd={cost_usd} /> },
];

function Dearest({ path }: { path: string }) {
  const dearest = useQuery<DearestTraces>(path, { keepPrevious: true });
  if (dearest.data === undefined && dearest.error?.fields["from"] !== undefined) {
    return <Banner>Too many model calls to sum by trace: choose fewer days or an agent.</Banner>;
  }
  return (
    <Loaded of={dearest}>
      {({ traces, priced, mean_cost_usd: mean }) => (
        <Panel title="Dearest traces" isFlush>
          <p class="note cost-mean">
            <Cost usd={mean} /> a trace on average, of {formatThings(priced, "trace")} with a price.
          </p>
          <Table isCards name="Dearest traces" columns={dearestColumns} rows={traces} />
        </Panel>
      )}
    </Loaded>
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

const nameOf = ({ model, provider }: Pick<Costs["models"][number], "model" | "provider">) =>
  `${model ?? "No name"} ${provider ?? ""}`;

type Model = Costs["models"][number];

const modelColumn: Column<Model> = {
  text: "Model",
  by: nameOf,
  cell: ({ model: name, provider }) => (
    <>
      <span class="mono">{name ?? "No name"}</span>
      {provider !== null && <span class="soft"> {provider}</span>}
    </>
  ),
};

function Models({ costs, figure, days }: { costs: Costs; figure: FigureName; days: readonly string[] }) {
  const drawn = new Map(costs.modelDays.map((each) => [nameOf(each), valuesOn(days, each.days, figure)]));
  const most = Math.max(...[...drawn.values()].flat());
  const perDay: Column<Model> = {
    text: `${looks[figure].label} per day`,
    cell: (sums) => {
      const values = drawn.get(nameOf(sums));
      return values && most > 0 && <ValueBars values={values} most={most} label={describe(values, days, figure)} />;
    },
  };
  const columns = [modelColumn, perDay, ...sumColumns];
  return <SumTable name="Models" columns={columns} rows={costs.models} keyOf={nameOf} textOf={nameOf} />;
}

function AgentsAndDays({ costs: { agents, series }, linkTo }: { costs: Costs; linkTo(agent: string): string }) {
  const idOf = ({ agent_id: id }: (typeof agents)[number]) => id;
  const dayOf = ({ day }: (typeof series)[number]) => day;
  const agent: Column<(typeof agents)[number]> = {
    text: "Agent",
    by: idOf,
    cell: ({ agent_id: id }) => <MonoLink href={linkTo(id)} text={id} />,
  };
  const day: Column<(typeof series)[number]> = { text: "Day", by: dayOf, cell: (sums) => formatDay(sums.day) };
  return (
    <>
      <SumTable name="Agents" columns={[agent, ...sumColumns]} rows={agents} keyOf={idOf} textOf={idOf} />
      <SumTable name="Days" columns={[day, ...sumColumns]} rows={series.toReversed()} keyOf={dayOf} />
    </>
  );
}

interface SumTableProps<Row> {
  name: string;
  columns: readonly Column<NoInfer<Row>>[];
  rows: readonly Row[];
  keyOf(row: NoInfer<Row>): string;
  textOf?(row: NoInfer<Row>): string;
}

function SumTable<Row extends Costs["total"]>(table: SumTableProps<Row>) {
  return (
    <div class="costs">
      <TablePanel {...table} isDense isCards />
    </div>
  );
}

function describe(values: readonly number[], days: readonly string[], figure: FigureName): string {
  const most = Math.max(...values);
  return `Most ${looks[figure].format(most)} on ${formatShortDay(days[values.indexOf(most)] ?? "")}`;
}
