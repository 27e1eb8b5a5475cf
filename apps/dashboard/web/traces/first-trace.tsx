import { planOf } from "@waymark/plan";
import { useState } from "preact/hooks";
import type { CreatedKey } from "../../src/keys/keys.route.js";
import { api } from "../data/api.js";
import { useMe } from "../data/me.js";
import { useAction } from "../data/query.js";
import { Button } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { TextField } from "../ui/field.js";
import { Panel } from "../ui/panel.js";
import { Banner, Skeleton } from "../ui/states.js";
import { examplesOf } from "./examples.js";

const placeholder = "wmk_trace_…";
const defaultAgent = "first-agent";

/** Three ways to send the first trace, with a key in them after one click. */
export function FirstTrace() {
  const me = useMe();
  const [key, setKey] = useState<string>();
  const [agent, setAgent] = useState(defaultAgent);
  const create = useAction(async () => {
    const created = await api.post<CreatedKey>("/keys", { name: "First trace", service: "trace" });
    setKey(created.key);
  });
  if (!me.data) return <Skeleton />;
  const url = me.data.traceApiUrl.replace(/\/$/, "");
  const examples = examplesOf({ url, key: key ?? placeholder, agent: agent.trim() || defaultAgent, now: new Date() });
  const hasOneAgent = planOf(me.data.account.plan).agents === 1;
  return (
    <div class="first-trace">
      <p class="waiting-line">
        <span class="mark is-running is-live" /> Waiting for the first trace. This page turns into the list by itself.
      </p>
      {create.error && <Banner tone="error">{create.error.message}</Banner>}
      <Panel>
        <TextField
          label="Agent"
          value={agent}
          onValue={setAgent}
          autocomplete="off"
          maxlength={255}
          hint={
            hasOneAgent
              ? "The Free plan has one agent, and the first trace names it: use the name of your own agent."
              : undefined
          }
        />
        <div class="first-key">
          {key === undefined ? (
            <>
              <p>Every example needs a key of the trace API.</p>
              <Button look="main" icon="keys" isBusy={create.isBusy} onClick={() => void create.run()}>
                Fill in a new key
              </Button>
            </>
          ) : (
            <p>
              The key “First trace” is filled in. Waymark shows it this once; <a href="/dashboard/keys">API keys</a>{" "}
              revokes it.
            </p>
          )}
        </div>
      </Panel>
      {examples.map(({ title, text }) => (
        <Panel key={title} title={title}>
          <CopyField label={`Example: ${title}`} value={text} lines={text.split("\n").length} />
        </Panel>
      ))}
    </div>
  );
}
