import "./alerts.css";
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import type { AlertList, ListedAlert } from "../../src/alerts/alerts.route.js";
import { api } from "../data/api.js";
import { useAction, usePages, useQuery } from "../data/query.js";
import { Ago, Moment } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button, ButtonLink } from "../ui/button.js";
import { formatThings } from "../ui/format.js";
import { Banner, Empty, Page, Panel, StatusDot, Waiting } from "../ui/page.js";
import { Segmented } from "../ui/segmented.js";
import { actionsColumn, Pager, Table } from "../ui/table.js";
import { useNarrow } from "../ui/use-size.js";

const states = ["pending", "held", "sent", "failed"] as const;
type Filter = ListedAlert["state"] | "all";

const choices: readonly { value: Filter; label: string }[] = [
  { value: "all", label: "All" },
  { value: "pending", label: "Pending" },
  { value: "held", label: "Held" },
  { value: "sent", label: "Sent" },
  { value: "failed", label: "Failed" },
];

const pollMs = 10_000;

/** Failure mails, with the reason of those that did not go out. */
export function AlertsPage() {
  const { url, route } = useLocation();
  const filter = readFilter(new URL(url, location.origin).search);
  const path = filter === "all" ? "/alerts" : `/alerts?state=${filter}`;
  const first = useQuery<AlertList>(path, { pollMs });
  const { items: alerts, ...older } = usePages(path, first.data, {
    itemsOf: (page) => page.alerts,
    nextOf: ({ next }) => (next === null ? undefined : `before=${next}`),
  });
  return (
    <Page
      title="Alerts"
      note="A mail goes out when a trace fails. Many failures at once share a summary."
      actions={<ButtonLink href="/dashboard/channels">Channels</ButtonLink>}
    >
      {first.data?.hasMails === false && (
        <p class="alerts-plan">
          Free sends no mails about failed traces. <a href="/dashboard/billing">Upgrade to Pro</a>
        </p>
      )}
      <div class="alerts-filters">
        <Segmented
          label="State"
          value={filter}
          choices={choices}
          onValue={(state) => route(`/dashboard/alerts${state === "all" ? "" : `?state=${state}`}`, true)}
        />
      </div>
      <Waiting of={first} />
      {alerts?.length === 0 && (
        <Empty title={filter === "all" ? "No alerts yet" : `No ${filter} alerts`}>
          <p>{filter === "all" ? "An alert appears with the first failed trace." : "Another state may have some."}</p>
        </Empty>
      )}
      {alerts && alerts.length > 0 && (
        <Panel isFlush>
          <AlertsTable alerts={alerts} onRetried={older.clear} />
          {older.hasMore && <Pager isLoading={older.isLoading} onMore={older.more} />}
        </Panel>
      )}
    </Page>
  );
}

function readFilter(search: string): Filter {
  const state = new URLSearchParams(search).get("state");
  return states.find((known) => known === state) ?? "all";
}

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
function AlertsTable({ alerts, onRetried }: AlertsTableProps) {
  const isNarrow = useNarrow(720);
  const retry = useAction((id: string) => api.post(`/alerts/${id}/retry`), {
    invalidates: ["/alerts"],
    onDone: () => {
      announce("The mail is sent again");
      onRetried();
    },
  });
  return (
    <>
      {retry.error && <Banner tone="error">{retry.error.message}</Banner>}
      <Table
        isRoomy
        name="Alerts"
        columns={["Mail", "Trace", ...(isNarrow ? [] : ["Why", { text: "Failed at", isNumber: true }, actionsColumn])]}
      >
        {alerts.map((alert) => (
          <AlertRow
            key={alert.id}
            alert={alert}
            isNarrow={isNarrow}
            isBusy={retry.isBusy}
            onRetry={() => retry.run(alert.id)}
          />
        ))}
      </Table>
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
