import { useState } from "preact/hooks";
import type { ListedFailure, MuteBody, MuteList } from "../../src/failures/failures.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { Moment } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { FormDialog, Radios } from "../ui/form.js";
import { formatCount } from "../ui/format.js";
import { Banner, Panel } from "../ui/page.js";
import { actionsColumn, Table } from "../ui/table.js";

const invalidates = ["/failures", "/mutes"];

const lengths = [
  { value: "1", label: "For a day" },
  { value: "7", label: "For a week" },
  { value: "good", label: "For good" },
] as const;

type Length = (typeof lengths)[number]["value"];

interface MuteDialogProps {
  failure: ListedFailure;
  onMuted(): void;
  onClose(): void;
}

/** Asks how long a failure's alerts stay silent. */
export function MuteDialog({ failure, onMuted, onClose }: MuteDialogProps) {
  const [length, setLength] = useState<Length>("1");
  const mute = useAction((body: MuteBody) => api.put(`/failures/${failure.id}/mute`, body), {
    invalidates,
    onDone: () => {
      announce("Failure muted");
      onMuted();
      onClose();
    },
  });
  const submit = () => {
    const until = length === "good" ? null : new Date(Date.now() + Number(length) * 86_400_000).toISOString();
    mute.run({ until });
  };
  const { error } = mute;
  return (
    <FormDialog title="Mute this failure?" verb="Mute" action={mute} onSubmit={submit} onClose={onClose}>
      <p>
        Its traces send no mails and no other messages meanwhile. They stay in this list, and Waymark counts the silent
        alerts.
      </p>
      <Radios
        label="How long"
        value={length}
        choices={lengths}
        onValue={(chosen) => setLength(chosen)}
        error={error?.fields["until"] ?? error?.refusal}
      />
    </FormDialog>
  );
}

/** Ends a failure's mute. */
export function useUnmute(onUnmuted?: () => void) {
  return useAction((id: string) => api.delete(`/failures/${id}/mute`), {
    invalidates,
    onDone: () => {
      announce("Mute ended");
      onUnmuted?.();
    },
  });
}

/** The active mutes with the alerts that stayed silent; nothing without one. */
export function MutesPanel({ mutes }: MuteList) {
  const unmute = useUnmute();
  const active = mutes.filter(({ state }) => state === "active");
  if (active.length === 0) return null;
  return (
    <Panel title="Muted" isFlush>
      {unmute.error && <Banner tone="error">{unmute.error.message}</Banner>}
      <Table
        isRoomy
        name="Muted failures"
        columns={["Failure", "Until", { text: "Silent alerts", isNumber: true }, actionsColumn]}
      >
        {active.map(({ id, agent_id, span_name, error, until, muted }) => (
          <tr key={id}>
            <th scope="row" class="failure-text">
              <span class="mono">{error ?? "No error text"}</span>
              <span class="hint">
                <span class="mono">{agent_id}</span>
                {span_name !== null && ` · in ${span_name}`}
              </span>
            </th>
            <td>{until === null ? "For good" : <Moment iso={until} />}</td>
            <td class="number">{formatCount(muted)}</td>
            <td class="is-action">
              <Button isBusy={unmute.isBusy} onClick={() => unmute.run(id)}>
                Unmute
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
