import { useState } from "preact/hooks";
import type { ChannelList, CreateChannelBody, CreatedChannel } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { SecretDialog } from "../ui/copy-button.js";
import { Checkbox, FormDialog, Radios, TextField, useTexts } from "../ui/form.js";

type Kind = CreateChannelBody["kind"];

const statuses = [
  { value: "both", label: "Errors and timeouts" },
  { value: "error", label: "Errors alone" },
  { value: "timeout", label: "Timeouts alone" },
] as const;

interface ChannelDialogProps {
  kinds: ChannelList["kinds"];
  onClose(): void;
}

/** Asks for a channel, then shows a webhook's secret, this once. */
export function ChannelDialog({ kinds, onClose }: ChannelDialogProps) {
  const [created, setCreated] = useState<CreatedChannel>();
  if (created?.secret) {
    return (
      <SecretDialog
        title="The channel is there"
        label="Signing secret"
        secret={created.secret}
        hint="Keep it now: Waymark does not show it again. Receivers verify messages with it."
        warning="Copied? This secret is not shown again. “Done” closes it anyway."
        onClose={onClose}
      />
    );
  }
  const finish = (channel: CreatedChannel) => {
    announce(channel.state === "waiting" ? `A link is on its way to ${channel.to}` : "Channel added");
    if (channel.secret) setCreated(channel);
    else onClose();
  };
  return <ChannelForm kinds={kinds} onCreated={finish} onClose={onClose} />;
}

interface ChannelFormProps extends ChannelDialogProps {
  onCreated(channel: CreatedChannel): void;
}

function ChannelForm({ kinds, onCreated, onClose }: ChannelFormProps) {
  const choices = kinds.map(({ kind: value, label, hint }) => ({ value, label, hint }));
  const [kind, setKind] = useState<Kind>("webhook");
  const { texts, field } = useTexts({ to: "", agent: "" }, "to");
  const [status, setStatus] = useState<(typeof statuses)[number]["value"]>("both");
  const [recovered, setRecovered] = useState(false);
  const create = useAction(
    () => {
      const agents = texts.agent.split(",").map((agent) => agent.trim());
      const limits = { agents: agents.filter(Boolean), statuses: status === "both" ? [] : [status], recovered };
      return api.post<CreatedChannel>("/channels", { kind, to: texts.to, ...limits } satisfies CreateChannelBody);
    },
    { invalidates: ["/channels"], onDone: onCreated },
  );
  return (
    <FormDialog title="Add a channel" verb="Add" action={create} onSubmit={create.run} onClose={onClose}>
      <Radios label="Kind" value={kind} choices={choices} onValue={(chosen) => setKind(chosen)} />
      <TextField
        label="Address"
        required
        autocomplete="off"
        placeholder={kinds.find((choice) => choice.kind === kind)?.placeholder ?? ""}
        {...field("to", create.error)}
      />
      <TextField
        label="Agents"
        autocomplete="off"
        hint="Names, separated by commas; empty for all."
        {...field("agent", create.error)}
      />
      <Radios label="Failures" value={status} choices={statuses} onValue={(chosen) => setStatus(chosen)} />
      <Checkbox
        label="Tell recoveries"
        hint="An agent's next success after failures."
        isChecked={recovered}
        onChecked={setRecovered}
      />
    </FormDialog>
  );
}
