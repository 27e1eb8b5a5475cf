import { useState } from "preact/hooks";
import type { ChannelList, ListedChannel } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { Button, RunButton } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { formatThings } from "../ui/format.js";
import { Banner, Empty, Panel, StatusDot } from "../ui/page.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";

const invalidates = ["/channels"];

export function ChannelsTable({ of: { channels, kinds }, mayChange }: { of: ChannelList; mayChange: boolean }) {
  const nameOf = ({ kind: name }: ListedChannel) => kinds.find(({ kind }) => kind === name)?.label ?? name;
  // Outside the table, whose columns change with the window's width.
  const [deleting, setDeleting] = useState<ListedChannel>();
  const send = (what: "test" | "link") => (id: string) => api.post(`/channels/${id}/${what}`);
  const test = useAction(send("test"), { invalidates, says: "A test is on its way" });
  const resend = useAction(send("link"), { invalidates, says: "A link is on its way" });
  const error = test.error ?? resend.error;
  if (channels.length === 0) {
    return (
      <Panel>
        <Empty title="No channels" text="Nobody is told about failures of this account." />
      </Panel>
    );
  }
  const actionsOf = (channel: ListedChannel) => (
    <span class="channel-actions">
      {channel.state === "active" && <RunButton text="Test" of={test} with={channel.id} />}
      {channel.state === "waiting" && <RunButton text="Send link again" of={resend} with={channel.id} />}
      <Button text="Delete" onClick={() => setDeleting(channel)} />
    </span>
  );
  const columns: readonly Column<ListedChannel>[] = [
    {
      text: "Channel",
      class: "wrap channel-address",
      cell: (channel, isNarrow) => (
        <>
          {channel.to}
          <span class="hint">
            {nameOf(channel)}
            {isNarrow && limitsOf(channel) !== "" && ` · ${limitsOf(channel)}`}
          </span>
          {isNarrow && mayChange && actionsOf(channel)}
        </>
      ),
    },
    { text: "Gets", isWide: true, class: "soft", cell: (channel) => limitsOf(channel) || "All failures" },
    { text: "State", cell: (channel) => <State of={channel} /> },
    ...(mayChange ? [{ ...actionsColumn, isWide: true, cell: actionsOf }] : []),
  ];
  return (
    <Panel isFlush>
      {error && <Banner tone="error">{error.refusal ?? error.message}</Banner>}
      <Table isRoomy narrowPx={720} name="Channels" columns={columns} rows={channels} />
      {deleting && (
        <DeleteDialog channel={deleting} kindName={nameOf(deleting)} onClose={() => setDeleting(undefined)} />
      )}
    </Panel>
  );
}

function limitsOf({ agents, statuses, recovered }: ListedChannel): string {
  if (statuses.includes("none")) return "Reports alone";
  const parts = [agents.join(", "), statuses.join(", ")].filter(Boolean);
  return [...parts, ...(recovered ? ["recoveries, too"] : [])].join(" · ");
}

const states = {
  active: { dot: "success", text: "Active" },
  waiting: { dot: "running", text: "Waiting" },
  ended: { dot: "error", text: "Ended" },
} as const;

function State({ of: { state, pending, failed, skipped, last_error } }: { of: ListedChannel }) {
  const counts = [
    pending > 0 && `${formatThings(pending, "message")} waiting`,
    failed > 0 && `${formatThings(failed, "message")} failed`,
    skipped > 0 && `${formatThings(skipped, "event")} skipped`,
  ].filter(Boolean);
  return (
    <>
      <StatusDot state={states[state].dot}>{states[state].text}</StatusDot>
      {state === "waiting" && <div class="hint">for confirmation</div>}
      {counts.length > 0 && <div class="hint">{counts.join(" · ")}</div>}
      {last_error !== null && <div class="is-error small wrap">{last_error}</div>}
    </>
  );
}

function DeleteDialog({ channel, kindName, onClose }: { channel: ListedChannel; kindName: string; onClose(): void }) {
  const remove = { work: () => api.delete(`/channels/${channel.id}`), invalidates, says: "Channel deleted" };
  return (
    <Confirm title="Delete this channel?" verb="Delete" {...remove} onClose={onClose}>
      <p>
        {kindName} to {channel.to} gets nothing more, and what waits for it is dropped.
      </p>
    </Confirm>
  );
}
