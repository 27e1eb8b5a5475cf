import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import type { AgentNames } from "../../src/traces/traces.route.js";
import { queryOf } from "../data/paths.js";
import { hasAnswer, useQuery } from "../data/query.js";
import { Segmented, Select } from "./choices.js";
import { LabelChips, LabelSelect } from "./label-filters.js";
import { type LabelName, type Labels, labelQuery, readLabels } from "./labels.js";

export function AgentSelect({ agent, onAgent }: { agent: string; onAgent(agent: string): void }) {
  // The rows come first.
  const { data } = useQuery<AgentNames>(hasAnswer.value ? "/traces/agents" : undefined, { staleMs: 30_000 });
  const names = data?.agents ?? [];
  const shown = agent === "" || names.includes(agent) ? names : [agent, ...names];
  const choices = [{ value: "", label: "Agent: any" }, ...shown.map((value) => ({ value, label: value }))];
  return <Select label="Agent" value={agent} choices={choices} onValue={onAgent} />;
}

type LinkPart = "days" | "agent" | "state";

const dayMs = 86_400_000;

/** The days that a page is of unless its address says otherwise; the server takes the same without `from`. */
const defaultDays = "30";

/**
 * The page's days up to the present one, UTC, its agent, its labels of some names and `others`, from its address: `filters`
 * change them, `ownFilters` all but the agent, `range` the days alone, `query` asks for them.
 */
export function useRecentDays(
  choices: readonly string[],
  names: readonly LabelName[] = [],
  others: readonly string[] = [],
) {
  const { query, path, route } = useLocation();
  const days = choices.find((choice) => choice === query["days"]) ?? defaultDays;
  const { agent = "" } = query;
  const labels = readLabels((name) => (names.includes(name) ? query[name] : undefined));
  const kept = Object.fromEntries(others.map((name) => [name, query[name] ?? ""]));
  const linkTo = ({ labels: own = labels, ...part }: { labels?: Labels } & Partial<Record<LinkPart, string>>) => {
    const next = { days, agent, ...kept, ...part };
    return path + queryOf({ ...next, days: next.days === defaultDays ? "" : next.days, ...own });
  };
  const change = (part: Parameters<typeof linkTo>[0]) => route(linkTo(part), true);
  const labelled = choices.map((value) => ({ value, label: value === "1" ? "Today" : `${value} days` }));
  const onLabels = (next: Labels) => change({ labels: next });
  const range = <Segmented label="Range" value={days} choices={labelled} onValue={(next) => change({ days: next })} />;
  const filtersWith = (select: ComponentChildren) => (
    <>
      <div class="row filters">
        {range}
        {select}
        {names.length > 0 && <LabelSelect names={names} labels={labels} onLabels={onLabels} />}
      </div>
      <LabelChips labels={labels} onLabels={onLabels} />
    </>
  );
  const filters = filtersWith(<AgentSelect agent={agent} onAgent={(next) => change({ agent: next })} />);
  const from = days === defaultDays ? "" : firstOf(Number(days));
  const asked = queryOf({ from, agent_id: agent, ...kept, ...labelQuery(labels) });
  return { agent, days, kept, labels, linkTo, range, filters, ownFilters: filtersWith(null), query: asked };
}

/** The start of the first of so many UTC days up to the present one. */
export function firstOf(days: number): string {
  const today = Math.floor(Date.now() / dayMs);
  return new Date((today - days + 1) * dayMs).toISOString();
}
