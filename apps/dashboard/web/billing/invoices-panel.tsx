import type { InvoiceList } from "../../src/billing/billing.route.js";
import type { Invoice } from "../../src/billing/payments.js";
import { useQuery } from "../data/query.js";
import { MomentDay } from "../ui/ago.js";
import { Panel } from "../ui/panel.js";
import { ErrorNote, Skeleton } from "../ui/states.js";
import { Table } from "../ui/table.js";
import { formatMoney } from "./format-money.js";

const columns = ["Invoice", { text: "Amount", isNumber: true }, "State"];

const states: Readonly<Record<string, string>> = {
  open: "Open",
  paid: "Paid",
  uncollectible: "Not collected",
  void: "Void",
};

/** The latest invoices; each links to Stripe's page of it. */
export function InvoicesPanel() {
  const { data, error, refetch } = useQuery<InvoiceList>("/billing/invoices", { staleMs: 30_000 });
  if (data?.invoices.length === 0) return null;
  return (
    <Panel title="Invoices" isFlush={data !== undefined}>
      {error && !data && <ErrorNote error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton rows={2} />}
      {data && (
        <Table name="Invoices" columns={columns}>
          <tbody>
            {data.invoices.map((invoice) => (
              <Row key={invoice.id} invoice={invoice} />
            ))}
          </tbody>
        </Table>
      )}
    </Panel>
  );
}

function Row({ invoice: { number, createdAt, amount, currency, state, url } }: { invoice: Invoice }) {
  const date = <MomentDay iso={createdAt} />;
  return (
    <tr>
      <th scope="row">
        {url === null ? (
          date
        ) : (
          <a href={url} target="_blank" rel="noreferrer">
            {date}
          </a>
        )}{" "}
        <span class="hint">{number}</span>
      </th>
      <td class="number">{formatMoney(amount, currency)}</td>
      <td>{states[state] ?? state}</td>
    </tr>
  );
}
