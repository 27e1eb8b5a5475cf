import "./alerts.css";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { AlertList, ListedAlert } from "../../src/alerts/alerts.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { ButtonLink } from "../ui/button.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { Segmented } from "../ui/segmented.js";
import { Empty, ErrorNote, Skeleton } from "../ui/states.js";
import { Pager } from "../ui/table.js";
import { AlertsTable } from "./alerts-table.js";

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
  const older = useOlder(path, first.data);
  const alerts = first.data && [...first.data.alerts, ...older.alerts];
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
      {first.error && !first.data && <ErrorNote error={first.error} onRetry={first.refetch} />}
      {first.isLoading && <Skeleton rows={6} />}
      {alerts?.length === 0 && (
        <Empty title={filter === "all" ? "No alerts yet" : `No ${filter} alerts`}>
          <p>{filter === "all" ? "An alert appears with the first failed trace." : "Another state may have some."}</p>
        </Empty>
      )}
      {alerts && alerts.length > 0 && (
        <Panel isFlush>
          <AlertsTable alerts={alerts} onRetried={older.clear} />
          {older.next !== null && <Pager isLoading={older.isLoading} onMore={older.more} />}
        </Panel>
      )}
    </Page>
  );
}

function readFilter(search: string): Filter {
  const state = new URLSearchParams(search).get("state");
  return states.find((known) => known === state) ?? "all";
}

/** The pages after the first. They begin anew with another state. */
function useOlder(path: string, first: AlertList | undefined) {
  const [pages, setPages] = useState<AlertList[]>([]);
  useEffect(() => setPages([]), [path]);
  const next = pages.length > 0 ? (pages.at(-1)?.next ?? null) : (first?.next ?? null);
  const load = useAction(async () => {
    const page = await api.get<AlertList>(`${path}${path.includes("?") ? "&" : "?"}before=${next}`);
    setPages([...pages, page]);
  });
  const shown = new Set(first?.alerts.map(({ id }) => id));
  return {
    alerts: pages.flatMap(({ alerts }) => alerts).filter(({ id }) => !shown.has(id)),
    next,
    isLoading: load.isBusy,
    more: () => void load.run(),
    clear: () => setPages([]),
  };
}
