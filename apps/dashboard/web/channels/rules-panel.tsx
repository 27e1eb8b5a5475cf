import { useState } from "preact/hooks";
import type { CreateRuleBody, RuleList } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Panel } from "../ui/panel.js";
import { Banner, ErrorNote, StatusDot } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";

/** Rules about failure rates: each is told once when crossed, and once when back. */
export function RulesPanel({ mayChange }: { mayChange: boolean }) {
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
        <div class="channels">
          <Table name="Rules" columns={["Rule", "State", ...(mayChange ? [actionsColumn] : [])]}>
            <tbody>
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
                      <Button isBusy={remove.isBusy} onClick={() => void remove.run(rule.id)}>
                        Delete rule
                      </Button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
      {isAdding && <RuleDialog onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function RuleDialog({ onClose }: { onClose(): void }) {
  const [agentId, setAgent] = useState("");
  const [above, setAbove] = useState("20");
  const [of, setOf] = useState("20");
  const [minutes, setMinutes] = useState("15");
  const create = useAction((body: CreateRuleBody) => api.post("/alert-rules", body).then(() => true), {
    invalidates: ["/alert-rules"],
  });
  const submit = async () => {
    const numbers = {
      abovePercent: Number(above),
      ofTraces: Number(of),
      withinSeconds: Math.round(Number(minutes) * 60),
    };
    if (!(await create.run({ agentId: agentId.trim(), ...numbers }))) return;
    announce("Rule added");
    onClose();
  };
  const { fields = {}, refusal } = create.error ?? {};
  const number = { type: "number", required: true } as const;
  return (
    <FormDialog title="Add a rule" verb="Add" isBusy={create.isBusy} onSubmit={() => void submit()} onClose={onClose}>
      <TextField
        label="Agent"
        value={agentId}
        onValue={setAgent}
        required
        autocomplete="off"
        error={fields["agent"] ?? refusal}
      />
      <TextField label="Above, in percent" {...number} value={above} onValue={setAbove} error={fields["above"]} />
      <TextField label="Of at least so many ended traces" {...number} value={of} onValue={setOf} error={fields["of"]} />
      <TextField label="Within minutes" {...number} value={minutes} onValue={setMinutes} error={fields["within"]} />
    </FormDialog>
  );
}
