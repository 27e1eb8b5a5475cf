import type { MarkedFailures, MarksBody, MuteList } from "../../src/failures/failure-marks.route.js";
import { api } from "../data/api.js";
import { useAction, useMayChange } from "../data/query.js";
import { Moment } from "../ui/ago.js";
import { RunButton } from "../ui/button.js";
import { inPortions } from "../ui/choice.js";
import { FormDialog, Radios, useForm } from "../ui/form.js";
import { formatCount, formatThings } from "../ui/format.js";
import { ActionError, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";

/** The days that pages of failures are of. */
export const dayChoices = ["1", "7", "30"];

const invalidates = ["/failures", "/mutes"];

const lengths = [
  { value: "1", label: "For a day" },
  { value: "7", label: "For a week" },
  { value: "good", label: "For good" },
] as const;

const dayMs = 86_400_000;

type Mark<Body> = Body extends unknown ? Omit<Body, "ids"> : never;

/** Marks many failures, and returns the ids of those that are still there. */
export function markFailures(ids: readonly string[], mark: Mark<MarksBody>): Promise<string[]> {
  return inPortions(ids, (portion) => api.post<MarkedFailures>("/failure-marks", { ...mark, ids: portion }));
}

interface MuteDialogProps {
  ids: readonly string[];
  onMuted?(): void;
  onClose(): void;
}

export function MuteDialog({ ids, onMuted, onClose }: MuteDialogProps) {
  const initial: { until: (typeof lengths)[number]["value"] } = { until: "1" };
  const mute = ({ until }: typeof initial) => {
    const time = until === "good" ? null : new Date(Date.now() + Number(until) * dayMs).toISOString();
    return markFailures(ids, { mark: "mute", until: time });
  };
  const form = useForm(initial, mute, {
    invalidates,
    says: `Muted: ${formatThings(ids.length, "failure")}`,
    refusalAt: "until",
    onDone: () => {
      onMuted?.();
      onClose();
    },
  });
  return (
    <FormDialog
      title={ids.length === 1 ? "Mute this failure?" : `Mute ${ids.length} failures?`}
      verb="Mute"
      form={form}
      onClose={onClose}
    >
      <p>
        Their traces send no mails and no other messages meanwhile. They stay in this list, and Waymark counts the
        silent alerts.
      </p>
      <Radios label="How long" choices={lengths} {...form.field("until")} />
    </FormDialog>
  );
}

export function useUnmute(onDone?: () => void) {
  const options = { invalidates, says: "Mute ended", ...(onDone && { onDone }) };
  return useAction((id: string) => api.delete(`/failures/${id}/mute`), options);
}

/** The API writes the year 9999 for good. */
export function Muted({ until }: { until: string }) {
  return <> · muted {until.startsWith("9999") ? "for good" : ["until ", <Moment key="until" iso={until} />]}</>;
}

export function MutesPanel({ mutes }: MuteList) {
  const unmute = useUnmute();
  const mayChange = useMayChange();
  const active = mutes.filter(({ state }) => state === "active");
  if (active.length === 0) return null;
  const columns: readonly Column<MuteList["mutes"][number]>[] = [
    {
      text: "Failure",
      class: "wrap failure-text",
      cell: ({ agent_id, span_name, error }) => (
        <>
          <span class="mono">{error ?? "No error text"}</span>
          <span class="hint">
            <span class="mono">{agent_id}</span>
            {span_name !== null && ` · in ${span_name}`}
          </span>
        </>
      ),
    },
    { text: "Until", cell: ({ until }) => (until === null ? "For good" : <Moment iso={until} />) },
    { text: "Silent alerts", isNumber: true, cell: ({ muted }) => formatCount(muted) },
    { ...actionsColumn, cell: ({ id }) => mayChange && <RunButton text="Unmute" of={unmute} with={id} /> },
  ];
  return (
    <Panel title="Muted" isFlush>
      <ActionError of={unmute} />
      <Table isRoomy name="Muted failures" columns={columns} rows={active} />
    </Panel>
  );
}
