import { type Plan, type PlanId, planIds, planOf } from "@waymark/plan";
import { formatBytes, formatCount } from "../ui/format.js";
import { Table } from "../ui/table.js";

const rows: readonly { name: string; text(plan: Plan): string }[] = [
  { name: "Price", text: (plan) => `${plan.priceUsdPerMonth} USD per month` },
  { name: "Traces per month", text: (plan) => formatCount(plan.tracesPerMonth) },
  { name: "Stored per month", text: (plan) => formatBytes(plan.bytesPerMonth) },
  { name: "Agents", text: (plan) => (plan.agents === null ? "Unlimited" : formatCount(plan.agents)) },
  { name: "Traces are kept for", text: (plan) => `${plan.retentionDays} days` },
  { name: "Mails about failed traces", text: (plan) => (plan.alerts ? "Included" : "Not included") },
  { name: "Analytics API", text: (plan) => (plan.statisticsApi ? "Included" : "Not included") },
];

/** The plans as the services hold them. */
export function PlanTable({ current }: { current: PlanId }) {
  const nameOf = (id: PlanId) => (id === current ? `${planOf(id).name} (yours)` : planOf(id).name);
  const columns = [{ text: "What", sign: "" }, ...planIds.map(nameOf)];
  return (
    <Table name="Plans" columns={columns}>
      <tbody>
        {rows.map(({ name, text }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {planIds.map((id) => (
              <td key={id}>{text(planOf(id))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
