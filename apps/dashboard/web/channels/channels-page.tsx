import "./channels.css";
import { useState } from "preact/hooks";
import type { ChannelList, CreateRuleBody, RuleList } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { Form, FormDialog, Radios, TextField, useTexts } from "../ui/form.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Banner, ErrorNote, Page, Panel, StatusDot, Waiting } from "../ui/page.js";
import { actionsColumn, Table } from "../ui/table.js";
import { ChannelDialog } from "./channel-dialog.js";
import { ChannelsTable } from "./channels-table.js";

const pollMs = 5_000;

/** Where failures are told, and how; owners change it. */
export function ChannelsPage() {
  const list = useQuery<ChannelList>("/channels", { pollMs });
  const me = useMe();
  const [isAdding, setAdding] = useState(false);
  const isOwner = me.data?.role === "owner";
  const mayChange = isOwner && list.data?.hasAlerts === true;
  const add = (
    <Button look="main" icon="plus" onClick={() => setAdding(true)}>
      Add channel
    </Button>
  );
  return (
    <Page title="Channels" note="Where Waymark tells of failed traces" actions={mayChange && add}>
      <Waiting of={list} />
      {list.data?.hasAlerts === false && (
        <Banner>
          Channels need the Pro plan. <a href="/dashboard/billing">Upgrade to Pro</a>
        </Banner>
      )}
      {me.data && !isOwner && <Banner>An owner of the account changes channels and rules.</Banner>}
      {list.data && (
        <>
          <ChannelsTable of={list.data} mayChange={mayChange} />
          <Panel title="Delivery">
            <DeliveryForm key={`${list.data.mode} ${list.data.windowSeconds}`} of={list.data} mayChange={mayChange} />
          </Panel>
          <RulesPanel mayChange={mayChange} />
        </>
      )}
      {list.data && isAdding && <ChannelDialog kinds={list.data.kinds} onClose={() => setAdding(false)} />}
    </Page>
  );
}

type Mode = ChannelList["mode"];

const modes = [
  { value: "each", label: "Each failure by itself" },
  {
    value: "digest",
    label: "Digests",
    hint: "An agent's first failure at once, then one message with all of a window.",
  },
] as const;

/** How mails and chat messages go. */
function DeliveryForm({ of: { mode: stored, windowSeconds }, mayChange }: { of: ChannelList; mayChange: boolean }) {
  const [mode, setMode] = useState<Mode>(stored);
  const [minutes, setMinutes] = useState(String(windowSeconds / 60));
  const change = useAction((body: { mode: Mode; windowSeconds: number }) => api.put("/alert-settings", body), {
    invalidates: ["/channels"],
    onDone: () => announce("Saved"),
  });
  if (!mayChange) {
    const text = stored === "each" ? "Each failure goes out by itself." : `Digests of ${windowSeconds / 60} minutes.`;
    return <p>{text}</p>;
  }
  const submit = () => change.run({ mode, windowSeconds: Math.round(Number(minutes) * 60) });
  const { fields = {}, refusal } = change.error ?? {};
  return (
    <Form class="narrow-form" verb="Save" action={change} onSubmit={submit}>
      <Radios
        label="Mails and chats"
        value={mode}
        choices={modes}
        onValue={(chosen) => setMode(chosen)}
        error={refusal}
      />
      {mode === "digest" && (
        <TextField
          label="Window in minutes"
          type="number"
          min="1"
          max="1440"
          required
          value={minutes}
          onValue={setMinutes}
          hint="Webhooks always get each failure."
          error={fields["window"] ?? fields["windowSeconds"]}
        />
      )}
    </Form>
  );
}

/** Rules about failure rates: each is told once when crossed, and once when back. */
function RulesPanel({ mayChange }: { mayChange: boolean }) {
  const list = useQuery<RuleList>("/alert-rules");
  const [isAdding, setAdding] = useState(false);
  const remove = useAction((id: string) => api.delete(`/alert-rules/${id}`), { invalidates: ["/alert-rules"] });
  const rules = list.data?.rules ?? [];
  const add = mayChange && <Button onClick={() => setAdding(true)}>Add rule</Button>;
  return (
    <Panel title="Failure rates" isFlush={rules.length > 0} actions={add}>
      {list.error && !list.data && <ErrorNote error={list.error} onRetry={list.refetch} />}
      {remove.error && <Banner tone="error">{remove.error.message}</Banner>}
      {list.data && rules.length === 0 && (
        <p class="soft">A rule tells once when an agent fails too often, and once when it is back.</p>
      )}
      {rules.length > 0 && (
        <Table isRoomy name="Rules" columns={["Rule", "State", ...(mayChange ? [actionsColumn] : [])]}>
          {rules.map((rule) => (
            <tr key={rule.id}>
              <th scope="row" class="channel-address">
                <span class="mono">{rule.agent_id}</span>
                <span class="hint">
                  above {rule.above_percent} % of at least {formatCount(rule.of)} traces in{" "}
                  {formatDuration(rule.within_seconds * 1_000)}
                </span>
              </th>
              <td>
                <StatusDot state={rule.state === "crossed" ? "error" : "success"}>
                  {rule.state === "crossed" ? "Crossed" : "Quiet"}
                </StatusDot>
                {rule.changed_at !== null && (
                  <div class="hint">
                    <Ago iso={rule.changed_at} />
                  </div>
                )}
              </td>
              {mayChange && (
                <td class="is-action">
                  <Button isBusy={remove.isBusy} onClick={() => remove.run(rule.id)}>
                    Delete rule
                  </Button>
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
      {isAdding && <RuleDialog onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function RuleDialog({ onClose }: { onClose(): void }) {
  const { texts, field } = useTexts({ agent: "", above: "20", of: "20", within: "15" }, "agent");
  const create = useAction(
    () => {
      const [abovePercent, ofTraces] = [Number(texts.above), Number(texts.of)];
      const withinSeconds = Math.round(Number(texts.within) * 60);
      const body: CreateRuleBody = { agentId: texts.agent.trim(), abovePercent, ofTraces, withinSeconds };
      return api.post("/alert-rules", body);
    },
    {
      invalidates: ["/alert-rules"],
      onDone: () => {
        announce("Rule added");
        onClose();
      },
    },
  );
  const take = (name: keyof typeof texts) => ({ required: true, ...field(name, create.error) });
  return (
    <FormDialog title="Add a rule" verb="Add" action={create} onSubmit={create.run} onClose={onClose}>
      <TextField label="Agent" autocomplete="off" {...take("agent")} />
      <TextField label="Above, in percent" type="number" {...take("above")} />
      <TextField label="Of at least so many ended traces" type="number" {...take("of")} />
      <TextField label="Within minutes" type="number" {...take("within")} />
    </FormDialog>
  );
}
