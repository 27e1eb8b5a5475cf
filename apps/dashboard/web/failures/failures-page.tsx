import "./failures.css";
import { useEffect, useState } from "preact/hooks";
import type { FailureList, MuteList } from "../../src/failures/failures.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { AgentSelect } from "../ui/agent-select.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { RecentDays, useRecentDays } from "../ui/recent-days.js";
import { Empty, ErrorNote, Skeleton } from "../ui/states.js";
import { Pager } from "../ui/table.js";
import { FailuresTable } from "./failures-table.js";
import { MutesPanel } from "./mutes-panel.js";

const choices = ["1", "7", "30"];

/** Failed traces by what went wrong, most frequent first, and the muted ones. */
export function FailuresPage() {
  const { days, agent, change, query } = useRecentDays(choices);
  const path = `/failures${query}`;
  const first = useQuery<FailureList>(path, { keepPrevious: true });
  const mutes = useQuery<MuteList>(first.data ? "/mutes" : undefined);
  const more = useMore(path, first.data);
  const failures = first.data && [...first.data.failures, ...more.failures];
  return (
    <Page title="Failures" note="Failed traces by agent, failing span and error, without numbers and ids. UTC days.">
      <div class="filters">
        <RecentDays days={days} choices={choices} onDays={(next) => change({ days: next })} />
        <AgentSelect agent={agent} onAgent={(next) => change({ agent: next })} />
      </div>
      {first.error && !first.data && <Refused {...first} error={first.error} />}
      {first.isLoading && <Skeleton />}
      {failures?.length === 0 && (
        <Empty title={agent === "" ? "No failures in these days" : "No failures of this agent in these days"}>
          <p>A failure appears with the first trace that ends with an error or a timeout.</p>
        </Empty>
      )}
      {failures && failures.length > 0 && (
        <Panel isFlush>
          <FailuresTable failures={failures} onChanged={more.clear} />
          {more.next !== null && <Pager isLoading={more.isLoading} onMore={more.load} />}
        </Panel>
      )}
      {mutes.data && <MutesPanel mutes={mutes.data.mutes} />}
    </Page>
  );
}

/** Too many failed traces to group have a message of their own. */
function Refused({ error, refetch }: { error: NonNullable<ReturnType<typeof useQuery>["error"]>; refetch(): void }) {
  if (error.status !== 400) return <ErrorNote error={error} onRetry={refetch} />;
  return (
    <Empty title="Too many failures to group">
      <p>Choose fewer days or an agent.</p>
    </Empty>
  );
}

/** The pages after the first. They begin anew with other filters. */
function useMore(path: string, first: FailureList | undefined) {
  const [pages, setPages] = useState<FailureList[]>([]);
  useEffect(() => setPages([]), [path]);
  const next = (pages.at(-1) ?? first)?.next_cursor ?? null;
  const load = useAction(async () => {
    const cursor = `cursor=${encodeURIComponent(next ?? "")}`;
    setPages([...pages, await api.get<FailureList>(`${path}${path.includes("?") ? "&" : "?"}${cursor}`)]);
  });
  const shown = new Set(first?.failures.map(({ id }) => id));
  return {
    failures: pages.flatMap(({ failures }) => failures).filter(({ id }) => !shown.has(id)),
    next,
    isLoading: load.isBusy,
    load: () => void load.run(),
    clear: () => setPages([]),
  };
}
