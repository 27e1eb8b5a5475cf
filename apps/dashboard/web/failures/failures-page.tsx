import "./failures.css";
import { useState } from "preact/hooks";
import type { FailureList, ListedFailure, MuteList } from "../../src/failures/failures.route.js";
import { usePages, useQuery } from "../data/query.js";
import { Ago, Moment } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { formatCount } from "../ui/format.js";
import { AgentSelect, RecentDays, useRecentDays } from "../ui/list-filters.js";
import { Banner, Empty, ErrorNote, Page, Panel, Skeleton } from "../ui/page.js";
import { actionsColumn, type Column, Pager, Table } from "../ui/table.js";
import { useNarrow } from "../ui/use-size.js";
import { MuteDialog, MutesPanel, useUnmute } from "./mutes.js";

const choices = ["1", "7", "30"];

/** Failed traces by what went wrong, most frequent first, and the muted ones. */
export function FailuresPage() {
  const { days, agent, change, query } = useRecentDays(choices);
  const path = `/failures${query}`;
  const first = useQuery<FailureList>(path, { keepPrevious: true });
  const mutes = useQuery<MuteList>(first.data ? "/mutes" : undefined);
  const { items: failures, ...more } = usePages(path, first.data, {
    itemsOf: (page) => page.failures,
    nextOf: ({ next_cursor }) => (next_cursor === null ? undefined : `cursor=${encodeURIComponent(next_cursor)}`),
  });
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
          {more.hasMore && <Pager isLoading={more.isLoading} onMore={more.more} />}
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

const count: Column = { text: "Traces", isNumber: true };
const wideColumns: readonly Column[] = ["Failure", "Agent", count, "First", "Last", actionsColumn];

interface FailuresTableProps {
  failures: readonly ListedFailure[];
  /** A mute began or ended. */
  onChanged(): void;
}

/** A row per group; its error leads to the newest of its traces. */
function FailuresTable({ failures, onChanged }: FailuresTableProps) {
  const isNarrow = useNarrow(900);
  const [muting, setMuting] = useState<ListedFailure>();
  const unmute = useUnmute(onChanged);
  const actionOf = (failure: ListedFailure) =>
    failure.muted_until === null ? (
      <Button onClick={() => setMuting(failure)}>Mute</Button>
    ) : (
      <Button isBusy={unmute.isBusy} onClick={() => unmute.run(failure.id)}>
        Unmute
      </Button>
    );
  return (
    <>
      {unmute.error && <Banner tone="error">{unmute.error.message}</Banner>}
      <Table isRoomy name="Failures" columns={isNarrow ? ["Failure", count] : wideColumns}>
        {failures.map((failure) => (
          <tr key={failure.id}>
            <FailureText of={failure}>
              {isNarrow && (
                <span class="failure-more">
                  <span class="mono">{failure.agent_id}</span> <Ago iso={failure.last_at} /> {actionOf(failure)}
                </span>
              )}
            </FailureText>
            {!isNarrow && (
              <td>
                <a class="mono" href={`/dashboard/agents/${encodeURIComponent(failure.agent_id)}`}>
                  {failure.agent_id}
                </a>
              </td>
            )}
            <td class="number">{formatCount(failure.count)}</td>
            {!isNarrow && (
              <>
                <td>
                  <Ago iso={failure.first_at} />
                </td>
                <td>
                  <Ago iso={failure.last_at} />
                </td>
                <td class="is-action">{actionOf(failure)}</td>
              </>
            )}
          </tr>
        ))}
      </Table>
      {muting && <MuteDialog failure={muting} onMuted={onChanged} onClose={() => setMuting(undefined)} />}
    </>
  );
}

function FailureText({ of: failure, children }: { of: ListedFailure; children: preact.ComponentChildren }) {
  const { error, span_name, muted_until, trace_id } = failure;
  return (
    <th scope="row" class="failure-text">
      <a class="mono" href={`/dashboard/traces/${trace_id}`}>
        {error ?? "No error text"}
      </a>
      <span class="hint">
        {span_name === null ? "no failing span" : `in ${span_name}`}
        {muted_until !== null && <Muted until={muted_until} />}
      </span>
      {children}
    </th>
  );
}

/** The API writes the year 9999 for good. */
function Muted({ until }: { until: string }) {
  return <> · muted {until.startsWith("9999") ? "for good" : ["until ", <Moment key="until" iso={until} />]}</>;
}
