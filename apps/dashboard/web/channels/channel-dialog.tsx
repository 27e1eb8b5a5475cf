import type { ChannelList, CreateChannelBody, CreatedChannel } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { announce } from "../ui/announce.js";
import { SecretDialog } from "../ui/copy-button.js";
import { Checkbox, FormDialog, Radios, TextField, useForm } from "../ui/form.js";

const statuses = [
  { value: "both", label: "Errors and timeouts" },
  { value: "error", label: "Errors alone" },
  { value: "timeout", label: "Timeouts alone" },
] as const;

interface Values extends Pick<CreateChannelBody, "kind" | "to"> {
  agent: string;
  status: (typeof statuses)[number]["value"];
  recovered: boolean;
}

const none: Values = { kind: "webhook", to: "", agent: "", status: "both", recovered: false };

function create({ agent, status, ...body }: Values) {
  const agents = agent
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const limits = { agents, statuses: status === "both" ? [] : [status] };
  return api.post<CreatedChannel>("/channels", { ...body, ...limits } satisfies CreateChannelBody);
}

export function ChannelDialog({ kinds, onClose }: { kinds: ChannelList["kinds"]; onClose(): void }) {
  const form = useForm(none, create, {
    invalidates: ["/channels"],
    refusalAt: "to",
    onDone: ({ state, to, secret }) => {
      announce(state === "waiting" ? `A link is on its way to ${to}` : "Channel added");
      if (!secret) onClose();
    },
  });
  if (form.output?.secret) {
    return (
      <SecretDialog
        title="The channel is there"
        label="Signing secret"
        secret={form.output.secret}
        hint="Keep it now: Waymark does not show it again. Receivers verify messages with it."
        warning="Copied? This secret is not shown again. “Done” closes it anyway."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog title="Add a channel" verb="Add" form={form} onClose={onClose}>
      <Radios
        label="Kind"
        choices={kinds.map(({ kind: value, label, hint }) => ({ value, label, hint }))}
        {...form.field("kind")}
      />
      <TextField
        label="Address"
        required
        autocomplete="off"
        placeholder={kinds.find(({ kind }) => kind === form.values.kind)?.placeholder ?? ""}
        {...form.field("to")}
      />
      <TextField
        label="Agents"
        autocomplete="off"
        hint="Names, separated by commas; empty for all."
        {...form.field("agent")}
      />
      <Radios label="Failures" choices={statuses} {...form.field("status")} />
      <Checkbox label="Tell recoveries" hint="An agent's next success after failures." {...form.field("recovered")} />
    </FormDialog>
  );
}
