import { useState } from "preact/hooks";
import type { ListedFailure } from "../../src/failures/failures.route.js";
import { Ago, Moment } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { formatCount } from "../ui/format.js";
import { Banner } from "../ui/states.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";
import { useNarrow } from "../ui/use-narrow.js";
import { MuteDialog, useUnmute } from "./mute-dialog.js";

const count: Column = { text: "Traces", isNumber: true };
const wideColumns: readonly Column[] = ["Failure", "Agent", count, "First", "Last", actionsColumn];

interface FailuresTableProps {
  failures: readonly ListedFailure[];
  /** A mute began or ended. */
  onChanged(): void;
}

/** A row per group; its error leads to the newest of its traces. */
export function FailuresTable({ failures, onChanged }: FailuresTableProps) {
  const isNarrow = useNarrow(900);
  const [muting, setMuting] = useState<ListedFailure>();
  const unmute = useUnmute(onChanged);
  const actionOf = (failure: ListedFailure) =>
    failure.muted_until === null ? (
      <Button onClick={() => setMuting(failure)}>Mute</Button>
    ) : (
      <Button isBusy={unmute.isBusy} onClick={() => void unmute.run(failure.id)}>
        Unmute
      </Button>
    );
  return (
    <div class="failures">
      {unmute.error && <Banner tone="error">{unmute.error.message}</Banner>}
      <Table name="Failures" columns={isNarrow ? ["Failure", count] : wideColumns}>
        <tbody>
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
        </tbody>
      </Table>
      {muting && <MuteDialog failure={muting} onMuted={onChanged} onClose={() => setMuting(undefined)} />}
    </div>
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
