import { useState } from "preact/hooks";
import type { ChannelList, CreateChannelBody, CreatedChannel } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { Dialog } from "../ui/dialog.js";
import { Checkbox, Radios, TextField } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";
import { Banner } from "../ui/states.js";

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
  if (created?.secret) return <NewSecret secret={created.secret} onClose={onClose} />;
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
  const [to, setTo] = useState("");
  const [agents, setAgents] = useState("");
  const [status, setStatus] = useState<(typeof statuses)[number]["value"]>("both");
  const [recovered, setRecovered] = useState(false);
  const create = useAction((body: CreateChannelBody) => api.post<CreatedChannel>("/channels", body), {
    invalidates: ["/channels"],
  });
  const submit = async () => {
    const named = agents
      .split(",")
      .map((agent) => agent.trim())
      .filter(Boolean);
    const limits = { agents: named, statuses: status === "both" ? [] : [status], recovered };
    const channel = await create.run({ kind, to, ...limits });
    if (channel) onCreated(channel);
  };
  const { fields = {}, refusal } = create.error ?? {};
  return (
    <FormDialog
      title="Add a channel"
      verb="Add"
      isBusy={create.isBusy}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <Radios label="Kind" value={kind} choices={choices} onValue={(chosen) => setKind(chosen)} />
      <TextField
        label="Address"
        value={to}
        onValue={setTo}
        required
        autocomplete="off"
        placeholder={kinds.find((choice) => choice.kind === kind)?.placeholder ?? ""}
        error={fields["to"] ?? refusal}
      />
      <TextField
        label="Agents"
        value={agents}
        onValue={setAgents}
        autocomplete="off"
        hint="Names, separated by commas; empty for all."
        error={fields["agent"]}
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

function NewSecret({ secret, onClose }: { secret: string; onClose(): void }) {
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const close = () => (isCopied || isAsking ? onClose() : setAsking(true));
  const actions = (
    <Button look="main" onClick={close}>
      Done
    </Button>
  );
  return (
    <Dialog title="The channel is there" onClose={close} actions={actions}>
      <div onCopy={() => setCopied(true)}>
        <CopyField
          label="Signing secret"
          value={secret}
          hint="Keep it now: Waymark does not show it again. Receivers verify messages with it."
          onCopy={() => setCopied(true)}
        />
      </div>
      {isAsking && !isCopied && (
        <Banner tone="error">Copied? This secret is not shown again. “Done” closes it anyway.</Banner>
      )}
    </Dialog>
  );
}
