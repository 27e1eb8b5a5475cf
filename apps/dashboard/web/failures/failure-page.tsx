import "../traces/traces.css";
import "./failures.css";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { AssignBody } from "../../src/failures/failure-marks.route.js";
import type { FailureDetail } from "../../src/failures/failures.route.js";
import type { TraceList } from "../../src/traces/traces.route.js";
import { api } from "../data/api.js";
import { queryOf } from "../data/paths.js";
import { useAction, useMayChange, usePages, useQuery } from "../data/query.js";
import { TracesTable } from "../traces/traces-table.js";
import { Ago } from "../ui/ago.js";
import { RunButton } from "../ui/button.js";
import { Select } from "../ui/choices.js";
import { DayBars } from "../ui/day-bars.js";
import { DialogButton } from "../ui/dialog.js";
import { formatCount } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { ActionError, Empty, Figure, Loaded, MissingPage, Page, Panel, StatusDot } from "../ui/page.js";
import { Pager } from "../ui/table.js";
import { MonoLink } from "../ui/usage.js";
import { dayChoices, MuteDialog, Muted, useUnmute } from "./mutes.js";

export function FailurePage() {
  const path = `/failures/${encodeURIComponent(useRoute().params["id"] ?? "")}`;
  const { range, days } = useRecentDays(dayChoices);
  const query = useQuery<FailureDetail>(path + queryOf({ days: days === "30" ? "" : days }), { keepPrevious: true });
  if (query.error?.status === 404)
    return <MissingPage title="Failure not found" reason="This account has no failure of this address." />;
  const failure = query.data;
  return (
    <Page
      title={failure ? (failure.text ?? "No error text") : "Failure"}
      crumbs={<a href="/dashboard/failures">Failures</a>}
      aside={failure && <State of={failure} />}
      note={failure && <Place of={failure} />}
    >
      <Loaded of={query}>{(detail) => <Detail of={detail} path={path} range={range} days={Number(days)} />}</Loaded>
    </Page>
  );
}

function State({ of: { is_new, resolved_at } }: { of: FailureDetail }) {
  return (
    <>
      {resolved_at === null ? (
        <StatusDot state="error">Open</StatusDot>
      ) : (
        <StatusDot state="success">Resolved</StatusDot>
      )}
      {is_new && <StatusDot state="timeout">New</StatusDot>}
    </>
  );
}

function Place({ of: { agent_id, span_name, muted_until } }: { of: FailureDetail }) {
  return (
    <>
      <MonoLink href={`/dashboard/agents/${encodeURIComponent(agent_id)}`} text={agent_id} />
      {span_name === null ? " · no failing span" : ` · in ${span_name}`}
      {muted_until !== null && <Muted until={muted_until} />}
    </>
  );
}

interface DetailProps {
  of: FailureDetail;
  path: string;
  range: ComponentChildren;
  days: number;
}

function Detail({ of: failure, path, range, days }: DetailProps) {
  const { count, first_at, last_at, resolved_at, from } = failure;
  const counts = failure.days.map((day) => ({ day: day.day, traces: day.count, failures: day.count }));
  return (
    <>
      {useMayChange() && <Actions of={failure} path={path} />}
      <Panel title="Figures" actions={range}>
        <dl class="failure-figures">
          <Figure label={days === 1 ? "Traces today" : `Traces of ${days} days`} value={formatCount(count)} />
          {first_at && <Figure label="First seen" value={<Ago iso={first_at} />} />}
          {last_at && <Figure label="Last seen" value={<Ago iso={last_at} />} />}
          {resolved_at && <Figure label="Resolved" value={<Ago iso={resolved_at} />} />}
        </dl>
        {days > 1 && <DayBars from={from} days={counts} shown={days} isLarge />}
        <p class="hint failure-rules">
          UTC days. New: no trace before these days has it. Resolved: until the next trace fails so.
        </p>
      </Panel>
      <Traces path={`${path}/traces`} />
    </>
  );
}

function Actions({ of: failure, path }: { of: FailureDetail; path: string }) {
  const isOpen = failure.resolved_at === null;
  const resolve = useAction(() => (isOpen ? api.put(`${path}/resolved`) : api.delete(`${path}/resolved`)), {
    invalidates: ["/failures"],
    says: isOpen ? "Failure resolved" : "Failure open again",
  });
  const assign = useAction(
    (personId: string) => api.put(`${path}/assignee`, { personId: personId || null } satisfies AssignBody),
    { invalidates: [path], says: "Saved" },
  );
  const unmute = useUnmute();
  const people = failure.people.map(({ id, name, email }) => ({ value: id, label: `Assigned to ${name || email}` }));
  return (
    <>
      {[resolve, assign, unmute].map((action, at) => (
        <ActionError key={at} of={action} />
      ))}
      <div class="row filters">
        <RunButton
          text={isOpen ? "Resolve" : "Open again"}
          look={isOpen ? "main" : undefined}
          of={resolve}
          with={undefined}
        />
        <Select
          label="Assigned to"
          value={failure.assignedTo ?? ""}
          choices={[{ value: "", label: "Assigned to nobody" }, ...people]}
          onValue={assign.run}
        />
        {failure.muted_until === null ? (
          <DialogButton text="Mute" dialog={(close) => <MuteDialog ids={[failure.id]} onClose={close} />} />
        ) : (
          <RunButton text="Unmute" of={unmute} with={failure.id} />
        )}
      </div>
    </>
  );
}

function Traces({ path }: { path: string }) {
  const body = useRef<HTMLDivElement>(null);
  const first = useQuery<TraceList>(path);
  const { items = [], ...more } = usePages(path, first.data, {
    itemsOf: ({ traces }) => traces,
    nextOf: ({ nextCursor }) => (nextCursor === null ? undefined : `cursor=${encodeURIComponent(nextCursor)}`),
  });
  return (
    <Loaded of={first}>
      {() =>
        items.length === 0 ? (
          <Empty title="No traces left" text="Its traces were deleted, or are past the days that Waymark keeps." />
        ) : (
          <Panel isFlush>
            <TracesTable rows={items} now={new Date()} retentionDays={undefined} body={body} />
            <Pager {...more} />
          </Panel>
        )
      }
    </Loaded>
  );
}
