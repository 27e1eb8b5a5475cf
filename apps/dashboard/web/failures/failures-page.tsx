import "./failures.css";
import { useState } from "preact/hooks";
import type { FailureList, ListedFailure, MuteList } from "../../src/failures/failures.route.js";
import { nextByCursor, usePages, useQuery } from "../data/query.js";
import { Ago, Moment } from "../ui/ago.js";
import { Button, RunButton } from "../ui/button.js";
import { formatCount } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { ActionError, Empty, Loaded, Page, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Pager, Table } from "../ui/table.js";
import { MonoLink } from "../ui/usage.js";
import { MuteDialog, MutesPanel, useUnmute } from "./mutes.js";

const choices = ["1", "7", "30"];

export function FailuresPage() {
  const { agent, filters, query } = useRecentDays(choices);
  const path = `/failures${query}`;
  const first = useQuery<FailureList>(path, { keepPrevious: true });
  const mutes = useQuery<MuteList>(first.data ? "/mutes" : undefined);
  const { items: failures = [], ...more } = usePages(path, first.data, {
    itemsOf: (page) => page.failures,
    nextOf: nextByCursor,
  });
  const isTooMuch = first.data === undefined && first.error?.status === 400;
  return (
    <Page title="Failures" note="Failed traces by agent, failing span and error, without numbers and ids. UTC days.">
      {filters}
      {isTooMuch ? (
        <Empty title="Too many failures to group" text="Choose fewer days or an agent." />
      ) : (
        <Loaded of={first}>
          {() =>
            failures.length === 0 ? (
              <Empty
                title={agent === "" ? "No failures in these days" : "No failures of this agent in these days"}
                text="A failure appears with the first trace that ends with an error or a timeout."
              />
            ) : (
              <Panel isFlush>
                <FailuresTable failures={failures} onChanged={more.clear} />
                <Pager {...more} />
              </Panel>
            )
          }
        </Loaded>
      )}
      {mutes.data && <MutesPanel mutes={mutes.data.mutes} />}
    </Page>
  );
}

function FailuresTable({ failures, onChanged }: { failures: readonly ListedFailure[]; onChanged(): void }) {
  // Outside the table, whose columns change with the window's width.
  const [muting, setMuting] = useState<ListedFailure>();
  const unmute = useUnmute(onChanged);
  const actionOf = (failure: ListedFailure) =>
    failure.muted_until === null ? (
      <Button text="Mute" onClick={() => setMuting(failure)} />
    ) : (
      <RunButton text="Unmute" of={unmute} with={failure.id} />
    );
  const columns: readonly Column<ListedFailure>[] = [
    {
      text: "Failure",
      class: "wrap failure-text",
      cell: (failure, isNarrow) => (
        <>
          <FailureText of={failure} />
          {isNarrow && (
            <span class="row small soft failure-more">
              <span class="mono">{failure.agent_id}</span> <Ago iso={failure.last_at} /> {actionOf(failure)}
            </span>
          )}
        </>
      ),
    },
    {
      text: "Agent",
      isWide: true,
      cell: ({ agent_id: id }) => <MonoLink href={`/dashboard/agents/${encodeURIComponent(id)}`} text={id} />,
    },
    { text: "Traces", isNumber: true, cell: ({ count }) => formatCount(count) },
    { text: "First", isWide: true, cell: ({ first_at }) => <Ago iso={first_at} /> },
    { text: "Last", isWide: true, cell: ({ last_at }) => <Ago iso={last_at} /> },
    { ...actionsColumn, isWide: true, cell: actionOf },
  ];
  return (
    <>
      <ActionError of={unmute} />
      <Table isRoomy narrowPx={900} name="Failures" columns={columns} rows={failures} />
      {muting && <MuteDialog failure={muting} onMuted={onChanged} onClose={() => setMuting(undefined)} />}
    </>
  );
}

function FailureText({ of: { error, span_name, muted_until, trace_id } }: { of: ListedFailure }) {
  return (
    <>
      <MonoLink href={`/dashboard/traces/${trace_id}`} text={error ?? "No error text"} />
      <span class="hint">
        {span_name === null ? "no failing span" : `in ${span_name}`}
        {muted_until !== null && <Muted until={muted_until} />}
      </span>
    </>
  );
}

/** The API writes the year 9999 for good. */
function Muted({ until }: { until: string }) {
  return <> · muted {until.startsWith("9999") ? "for good" : ["until ", <Moment key="until" iso={until} />]}</>;
}
