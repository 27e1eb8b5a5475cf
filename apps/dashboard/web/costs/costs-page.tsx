import "./costs.css";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Costs } from "../../src/costs/costs.route.js";
import { useQuery } from "../data/query.js";
import { Chart } from "../statistics/chart.js";
import { formatCount, formatDay } from "../ui/format.js";
import { AgentSelect, RecentDays, useRecentDays } from "../ui/list-filters.js";
import { Empty, Page, Panel, Waiting } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import {
  costCurve,
  type FigureName,
  figureNames,
  figureOf,
  formatCompact,
  formatDollars,
  formatTick,
} from "./figures.js";

const choices = ["7", "30", "90"];

const counted = { format: formatCount, tick: formatCompact };
const looks = {
  cost: { label: "Cost", format: formatDollars, tick: formatTick },
  input: { label: "Input tokens", ...counted },
  output: { label: "Output tokens", ...counted },
  calls: { label: "Model calls", ...counted },
} as const;

/** Tokens and money of model calls by model, by agent and by day. */
export function CostsPage() {
  const { days, agent, linkTo, change, query } = useRecentDays(choices);
  const costs = useQuery<Costs>(`/costs${query}`, { keepPrevious: true });
  return (
    <Page
      title="Costs"
      note="Model calls by the UTC day of their span. Calls without a price count their tokens alone."
    >
      <div class="filters">
        <RecentDays days={days} choices={choices} onDays={(next) => change({ days: next })} />
        <AgentSelect agent={agent} onAgent={(next) => change({ agent: next })} />
      </div>
      <Waiting of={costs} />
      {costs.data?.total.calls === 0 && (
        <Empty title="No model calls in these days">
          <p>
            A call appears with the first span whose attributes name a model and its tokens, such as{" "}
            <code>gen_ai.usage.input_tokens</code>.
          </p>
        </Empty>
      )}
      {costs.data && costs.data.total.calls > 0 && (
        <>
          <OverTime costs={costs.data} />
          <CostTables costs={costs.data} linkTo={(id) => linkTo({ agent: id })} />
        </>
      )}
    </Page>
  );
}

/** The figures in all; a click draws one by day. */
function OverTime({ costs }: { costs: Costs }) {
  const [figure, setFigure] = useState<FigureName>("cost");
  return (
    <section class="panel is-flush" aria-label="Over time">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset brings a form's frame */}
      <div class="figures" role="group" aria-label="Figures">
        {figureNames.map((name) => (
          <button key={name} type="button" aria-pressed={name === figure} onClick={() => setFigure(name)}>
            <span class="figure-label">{looks[name].label}</span>{" "}
            <span class="figure-value">
              {name === "cost" && costs.total.cost_usd === null
                ? "No price"
                : looks[name].format(figureOf(costs.total, name))}
            </span>
          </button>
        ))}
      </div>
      <Chart curve={costCurve(costs, figure, new Date().toISOString())} look={looks[figure]} />
    </section>
  );
}

type Sums = Costs["total"];

const sumColumns: readonly Column[] = ["Calls", "Input tokens", "Cached input", "Output tokens", "Cost"].map(
  (text) => ({
    text,
    isNumber: true,
  }),
);

interface CostTablesProps {
  costs: Costs;
  /** The page of an agent alone. */
  linkTo(agent: string): string;
}

/** The sums by model, by agent and by day. */
function CostTables({ costs: { models, agents, series }, linkTo }: CostTablesProps) {
  const days = [...series].reverse();
  return (
    <div class="costs">
      <SumTable name="Models" column="Model">
        {models.map(({ model, provider, ...sums }) => (
          <Row key={`${provider} ${model}`} sums={sums}>
            <span class="mono">{model ?? "No name"}</span>
            {provider !== null && <span class="soft"> {provider}</span>}
          </Row>
        ))}
      </SumTable>
      <SumTable name="Agents" column="Agent">
        {agents.map(({ agent_id, ...sums }) => (
          <Row key={agent_id} sums={sums}>
            <a class="mono" href={linkTo(agent_id)}>
              {agent_id}
            </a>
          </Row>
        ))}
      </SumTable>
      <SumTable name="Days" column="Day">
        {days.map(({ day, ...sums }) => (
          <Row key={day} sums={sums}>
            {formatDay(day)}
          </Row>
        ))}
      </SumTable>
    </div>
  );
}

function SumTable({ name, column, children }: { name: string; column: string; children: ComponentChildren }) {
  return (
    <Panel title={name} isFlush>
      <Table name={name} columns={[column, ...sumColumns]} isDense>
        {children}
      </Table>
    </Panel>
  );
}

function Row({ sums, children }: { sums: Sums; children: ComponentChildren }) {
  const { calls, input_tokens, cached_input_tokens, output_tokens, cost_usd } = sums;
  return (
    <tr>
      <th scope="row">{children}</th>
      <td class="number">{formatCount(calls)}</td>
      <td class="number">{formatCount(input_tokens)}</td>
      <td class="number">{formatCount(cached_input_tokens)}</td>
      <td class="number">{formatCount(output_tokens)}</td>
      <td class="number" title={cost_usd === null ? undefined : `$${cost_usd}`}>
        {cost_usd === null ? <span class="soft">No price</span> : formatDollars(Number(cost_usd))}
      </td>
    </tr>
  );
}
