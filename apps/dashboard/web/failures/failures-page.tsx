import "./failures.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { MuteList } from "../../src/failures/failure-marks.route.js";
import type { FailureList, ListedFailure } from "../../src/failures/failures.route.js";
import { nextByCursor, useMayChange, usePages, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { Button, RunButton } from "../ui/button.js";
import { ChoiceBox, takeChoiceKey, useChoice } from "../ui/choice.js";
import { Segmented } from "../ui/choices.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatCount } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { ActionError, Empty, Loaded, Page, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Pager, Table } from "../ui/table.js";
import { MonoLink } from "../ui/usage.js";
import { useKeys } from "../ui/use-keys.js";
import { ChosenFailures } from "./chosen-failures.js";
import { FailureText } from "./failure-text.js";
import { dayChoices, MuteDialog, Muted, MutesPanel, useUnmute } from "./mutes.js";

const states = [
  { value: "", label: "Open" },
  { value: "resolved", label: "Resolved" },
] as const;

export function FailuresPage() {
  const { agent, filters, kept, linkTo, query } = useRecentDays(dayChoices, [], ["state"]);
  const { route } = useLocation();
  const isResolved = kept["state"] === "resolved";
  const path = `/failures${query}`;
  const first = useQuery<FailureList>(path, { keepPrevious: true });
  const mutes = useQuery<MuteList>(first.data ? "/mutes" : undefined);
  const { items: failures = [], ...more } = usePages(path, first.data, {
    itemsOf: (page) => page.failures,
    nextOf: nextByCursor,
  });
  const state = (
    <Segmented
      label="State"
      value={isResolved ? "resolved" : ""}
      choices={states}
      onValue={(next) => route(linkTo({ state: next }), true)}
    />
  );
  const isTooMuch = first.data === undefined && first.error?.status === 400;
  return (
    <Page
      title="Failures"
      actions={
        <>
          {state}
          <ExportMenu path={`/exports${path}`} />
        </>
      }
      note="Failed traces by agent, failing span and error, without numbers and ids. UTC days."
    >
      {filters}
      {isTooMuch ? (
        <Empty title="Too many failures to group" text="Choose fewer days or an agent." />
      ) : (
        <Loaded of={first}>
          {() =>
            failures.length === 0 ? (
              <Empty
                title={`No ${isResolved ? "resolved " : ""}failures ${agent === "" ? "" : "of this agent "}in these days`}
                text={
                  isResolved
                    ? resolvedHint
                    : "A failure appears with the first trace that ends with an error or a timeout."
                }
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

const resolvedHint = "Somebody resolves a failure on its page. The next trace that fails so opens it again.";

function FailuresTable({ failures, onChanged }: { failures: readonly ListedFailure[]; onChanged(): void }) {
  // Outside the table, whose columns change with the window's width.
  const [muting, setMuting] = useState<ListedFailure>();
  const unmute = useUnmute(onChanged);
  const mayChange = useMayChange();
  const choice = useChoice(failures.map(({ id }) => id));
  useKeys((event) => mayChange && takeChoiceKey(choice, event));
  const actionOf = (failure: ListedFailure) =>
    mayChange &&
    (failure.muted_until === null ? (
      <Button text="Mute" onClick={() => setMuting(failure)} />
    ) : (
      <RunButton text="Unmute" of={unmute} with={failure.id} />
    ));
  const columns: readonly Column<ListedFailure>[] = [
    {
      text: "Failure",
      class: "wrap failure-text",
      cell: (failure, isNarrow) => (
        <>
          {mayChange && <ChoiceBox choice={choice} id={failure.id} name={failure.error ?? "No error text"} />}{" "}
          <FailureText of={failure}>
            {failure.muted_until !== null && <Muted until={failure.muted_until} />}
          </FailureText>
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
      <ChosenFailures choice={choice} onChanged={onChanged} />
      <Table isRoomy narrowPx={900} name="Failures" columns={columns} rows={failures} />
      {muting && <MuteDialog ids={[muting.id]} onMuted={onChanged} onClose={() => setMuting(undefined)} />}
    </>
  );
}
