import "../statistics/over-time.css";
import "./costs.css";
import { useState } from "preact/hooks";
import type { Costs } from "../../src/costs/costs.route.js";
import { useQuery } from "../data/query.js";
import { Chart } from "../statistics/chart.js";
import { AgentSelect } from "../ui/agent-select.js";
import { formatCount } from "../ui/format.js";
import { Page } from "../ui/page.js";
import { RecentDays, useRecentDays } from "../ui/recent-days.js";
import { Empty, ErrorNote, Skeleton } from "../ui/states.js";
import { CostTables } from "./cost-tables.js";
import { formatCompact, formatDollars, formatTick } from "./dollars.js";
import { costCurve, type FigureName, figureNames, figureOf } from "./figures.js";

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
      {costs.error && !costs.data && <ErrorNote error={costs.error} onRetry={costs.refetch} />}
      {costs.isLoading && <Skeleton />}
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
