import type { ComponentChildren } from "preact";
import type { ListedAlert } from "../../src/alerts/alerts.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { Ago, Moment } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { formatThings } from "../ui/format.js";
import { Banner, StatusDot } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";
import { useNarrow } from "../ui/use-narrow.js";

const looks: Readonly<
  Record<ListedAlert["state"], { state: "running" | "timeout" | "success" | "error"; word: string }>
> = {
  pending: { state: "running", word: "Pending" },
  held: { state: "timeout", word: "Held" },
  sent: { state: "success", word: "Sent" },
  failed: { state: "error", word: "Failed" },
};

interface AlertsTableProps {
  alerts: readonly ListedAlert[];
  /** Older pages are asked anew too. */
  onRetried(): void;
}

/** One row per mail; the trace's name leads to its first error. */
export function AlertsTable({ alerts, onRetried }: AlertsTableProps) {
  const isNarrow = useNarrow(720);
  const retry = useAction(
    async (id: string) => {
      await api.post(`/alerts/${id}/retry`);
      announce("The mail is sent again");
      onRetried();
    },
    { invalidates: ["/alerts"] },
  );
  return (
    <>
      {retry.error && <Banner tone="error">{retry.error.message}</Banner>}
      <div class="alerts">
        <Table
          name="Alerts"
          columns={[
            "Mail",
            "Trace",
            ...(isNarrow ? [] : ["Why", { text: "Failed at", isNumber: true }, actionsColumn]),
          ]}
        >
          <tbody>
            {alerts.map((alert) => (
              <AlertRow
                key={alert.id}
                alert={alert}
                isNarrow={isNarrow}
                isBusy={retry.isBusy}
                onRetry={() => void retry.run(alert.id)}
              />
            ))}
          </tbody>
        </Table>
      </div>
    </>
  );
}

interface AlertRowProps {
  alert: ListedAlert;
  isNarrow: boolean;
  isBusy: boolean;
  onRetry(): void;
}

/** In a narrow window one cell has everything but the state. */
function AlertRow({ alert, isNarrow, isBusy, onRetry }: AlertRowProps) {
  const { state, word } = looks[alert.state];
  const time = <Ago iso={alert.createdAt} />;
  const again = canRetry(alert) && (
    <Button isBusy={isBusy} onClick={onRetry}>
      Send again
    </Button>
  );
  return (
    <tr>
      <td class="alert-state">
        <StatusDot state={state}>{word}</StatusDot>
      </td>
      <td class="alert-trace">
        <TraceLink alert={alert} />
        {isNarrow && (
          <div class="alert-more">
            <p class="soft">
              {reasonOf(alert)} · {time}
            </p>
            {again}
          </div>
        )}
      </td>
      {!isNarrow && (
        <>
          <td class="soft alert-why">{reasonOf(alert)}</td>
          <td class="number soft">{time}</td>
          <td class="is-action">{again}</td>
        </>
      )}
    </tr>
  );
}

function TraceLink({ alert: { trace, status, failures } }: { alert: ListedAlert }) {
  if (trace.name === null) return <span class="soft">Deleted trace</span>;
  return (
    <>
      <a href={`/dashboard/traces/${trace.id}`}>{trace.name === "" ? "(no name)" : trace.name}</a>
      <span class="hint">
        <span class="mono">{trace.agentId}</span> · {status === "timeout" ? "Timeout" : "Error"}
        {failures > 1 && ` · ${formatThings(failures, "failure")}`}
      </span>
    </>
  );
}

function reasonOf(alert: ListedAlert): ComponentChildren {
  const { state, reason, attempts, sentAt, dueAt, heldUntil, isInSummary } = alert;
  if (state === "sent") {
    return (
      <>
        {isInSummary ? "Sent in a summary" : "Sent"} at <Moment iso={sentAt ?? dueAt} />
      </>
    );
  }
  if (state === "failed") return `${reason ?? "No reason known"} (${formatThings(attempts, "attempt")})`;
  if (state === "held") {
    if (isInSummary) return "Goes out with a summary that is on its way";
    return (
      <>
        Above the limit of mails; a summary follows after <Moment iso={heldUntil ?? dueAt} />
      </>
    );
  }
  if (attempts === 0) return "Goes out soon";
  return (
    <>
      {reason ?? "No reason known"} ({formatThings(attempts, "attempt")}); again at <Moment iso={dueAt} />
    </>
  );
}

/** A sent mail stays; a summary on its way has its alerts already; a pending one goes out by itself. */
function canRetry({ state, isInSummary }: ListedAlert): boolean {
  return state === "failed" || (state === "held" && !isInSummary);
}
