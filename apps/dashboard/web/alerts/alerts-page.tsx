import "./alerts.css";
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import type { AlertList, ListedAlert } from "../../src/alerts/alerts.route.js";
import { api } from "../data/api.js";
import { useAction, useMayChange, usePages, useQuery } from "../data/query.js";
import { Ago, Moment } from "../ui/ago.js";
import { ButtonLink, RunButton } from "../ui/button.js";
import { Segmented } from "../ui/choices.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatThings } from "../ui/format.js";
import { ActionError, Empty, Loaded, Page, Panel, StatusDot } from "../ui/page.js";
import { actionsColumn, type Column, Pager, Table } from "../ui/table.js";

const looks = {
  pending: { state: "running", label: "Pending" },
  held: { state: "timeout", label: "Held" },
  sent: { state: "success", label: "Sent" },
  failed: { state: "error", label: "Failed" },
} as const satisfies Record<ListedAlert["state"], object>;

type Filter = keyof typeof looks | "all";

const choices: readonly { value: Filter; label: string }[] = [
  { value: "all", label: "All" },
  ...(Object.keys(looks) as (keyof typeof looks)[]).map((value) => ({ value, label: looks[value].label })),
];

const pollMs = 10_000;

export function AlertsPage() {
  const { query, route } = useLocation();
  const filter = choices.find(({ value }) => value === query["state"])?.value ?? "all";
  const path = filter === "all" ? "/alerts" : `/alerts?state=${filter}`;
  const first = useQuery<AlertList>(path, { pollMs });
  const { items: alerts = [], ...older } = usePages(path, first.data, {
    itemsOf: (page) => page.alerts,
    nextOf: ({ next }) => (next === null ? undefined : `before=${next}`),
  });
  return (
    <Page
      title="Alerts"
      note="A mail goes out when a trace fails. Many failures at once share a summary."
      actions={
        <>
          <ButtonLink text="Channels" href="/dashboard/channels" />
          <ExportMenu path={`/exports${path}`} />
        </>
      }
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
      <Loaded of={first}>
        {() =>
          alerts.length === 0 ? (
            <Empty
              title={filter === "all" ? "No alerts yet" : `No ${filter} alerts`}
              text={filter === "all" ? "An alert appears with the first failed trace." : "Another state may have some."}
            />
          ) : (
            <Panel isFlush>
              <AlertsTable alerts={alerts} onRetried={older.clear} />
              <Pager {...older} />
            </Panel>
          )
        }
      </Loaded>
    </Page>
  );
}

/** One row per mail; the trace's name leads to its first error. In a narrow window one cell has all but the state. */
function AlertsTable({ alerts, onRetried }: { alerts: readonly ListedAlert[]; onRetried(): void }) {
  const retry = useAction((id: string) => api.post(`/alerts/${id}/retry`), {
    invalidates: ["/alerts"],
    says: "The mail is sent again",
    onDone: onRetried,
  });
  const mayChange = useMayChange();
  const againOf = (alert: ListedAlert) =>
    mayChange && canRetry(alert) && <RunButton text="Send again" of={retry} with={alert.id} />;
  const columns: readonly Column<ListedAlert>[] = [
    {
      text: "Mail",
      class: "alert-state",
      cell: ({ state }) => <StatusDot state={looks[state].state}>{looks[state].label}</StatusDot>,
    },
    {
      text: "Trace",
      class: "alert-trace",
      cell: (alert, isNarrow) => (
        <>
          <TraceLink alert={alert} />
          {isNarrow && (
            <div class="small wrap alert-more">
              <p class="soft">
                {reasonOf(alert)} · <Ago iso={alert.createdAt} />
              </p>
              {againOf(alert)}
            </div>
          )}
        </>
      ),
    },
    { text: "Why", isWide: true, class: "soft wrap alert-why", cell: reasonOf },
    { text: "Failed at", isWide: true, isNumber: true, class: "soft", cell: (alert) => <Ago iso={alert.createdAt} /> },
    { ...actionsColumn, isWide: true, cell: againOf },
  ];
  return (
    <>
      <ActionError of={retry} />
      <Table isRoomy hasPlainRows narrowPx={720} name="Alerts" columns={columns} rows={alerts} />
    </>
  );
}

function TraceLink({ alert: { trace, status, failures } }: { alert: ListedAlert }) {
  if (trace.name === null) return <span class="soft">Deleted trace</span>;
  return (
    <>
      <a class="wrap" href={`/dashboard/traces/${trace.id}`}>
        {trace.name === "" ? "(no name)" : trace.name}
      </a>
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
