import type { ComponentChildren } from "preact";
import type { Costs } from "../../src/costs/costs.route.js";
import { formatCount, formatDay } from "../ui/format.js";
import { Panel } from "../ui/panel.js";
import { type Column, Table } from "../ui/table.js";
import { formatDollars } from "./dollars.js";

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
export function CostTables({ costs: { models, agents, series }, linkTo }: CostTablesProps) {
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
        <tbody>{children}</tbody>
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
