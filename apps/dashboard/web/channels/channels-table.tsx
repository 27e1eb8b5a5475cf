import { useState } from "preact/hooks";
import type { ChannelList, ListedChannel } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { formatThings } from "../ui/format.js";
import { Banner, Empty, Panel, StatusDot } from "../ui/page.js";
import { actionsColumn, Table } from "../ui/table.js";
import { useNarrow } from "../ui/use-size.js";

/** A row per channel, with its state, "Test" and "Delete". */
export function ChannelsTable({ of: { channels, kinds }, mayChange }: { of: ChannelList; mayChange: boolean }) {
  const nameOf = ({ kind: name }: ListedChannel) => kinds.find(({ kind }) => kind === name)?.label ?? name;
  const isNarrow = useNarrow(720);
  const [deleting, setDeleting] = useState<ListedChannel>();
  const test = useAction((id: string) => api.post(`/channels/${id}/test`), {
    invalidates: ["/channels"],
    onDone: () => announce("A test is on its way"),
  });
  const resend = useAction((id: string) => api.post(`/channels/${id}/link`), {
    invalidates: ["/channels"],
    onDone: () => announce("A link is on its way"),
  });
  const error = test.error ?? resend.error;
  if (channels.length === 0) {
    return (
      <Panel>
        <Empty title="No channels">
          <p>Nobody is told about failures of this account.</p>
        </Empty>
      </Panel>
    );
  }
  const columns = isNarrow ? ["Channel", "State"] : ["Channel", "Gets", "State", ...(mayChange ? [actionsColumn] : [])];
  return (
    <Panel isFlush>
      {error && <Banner tone="error">{error.refusal ?? error.message}</Banner>}
      <Table isRoomy name="Channels" columns={columns}>
        {channels.map((channel) => {
          const actions = mayChange && (
            <span class="channel-actions">
              {channel.state === "active" && (
                <Button isBusy={test.isBusy} onClick={() => test.run(channel.id)}>
                  Test
                </Button>
              )}
              {channel.state === "waiting" && (
                <Button isBusy={resend.isBusy} onClick={() => resend.run(channel.id)}>
                  Send link again
                </Button>
              )}
              <Button onClick={() => setDeleting(channel)}>Delete</Button>
            </span>
          );
          return (
            <tr key={channel.id}>
              <th scope="row" class="channel-address">
                {channel.to}
                <span class="hint">
                  {nameOf(channel)}
                  {isNarrow && limitsOf(channel) !== "" && ` · ${limitsOf(channel)}`}
                </span>
                {isNarrow && actions}
              </th>
              {!isNarrow && <td class="soft">{limitsOf(channel) || "All failures"}</td>}
              <td>
                <State of={channel} />
              </td>
              {!isNarrow && mayChange && <td class="is-action">{actions}</td>}
            </tr>
          );
        })}
      </Table>
      {deleting && (
        <DeleteDialog channel={deleting} kindName={nameOf(deleting)} onClose={() => setDeleting(undefined)} />
      )}
    </Panel>
  );
}

function limitsOf({ agents, statuses, recovered }: ListedChannel): string {
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
      {last_error !== null && <div class="channel-error">{last_error}</div>}
    </>
  );
}

function DeleteDialog({ channel, kindName, onClose }: { channel: ListedChannel; kindName: string; onClose(): void }) {
  const remove = useAction(() => api.delete(`/channels/${channel.id}`), {
    invalidates: ["/channels"],
    onDone: () => {
      announce("Channel deleted");
      onClose();
    },
  });
  return (
    <Confirm title="Delete this channel?" verb="Delete" action={remove} onClose={onClose}>
      <p>
        {kindName} to {channel.to} gets nothing more, and what waits for it is dropped.
      </p>
    </Confirm>
  );
}
