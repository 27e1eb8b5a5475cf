import { useState } from "preact/hooks";
import type { CreatedKey } from "../../src/keys/keys.schema.js";
import { api } from "../data/api.js";
import { useMe } from "../data/me.js";
import { useAction } from "../data/query.js";
import { Button } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { Panel } from "../ui/panel.js";
import { Banner, Skeleton } from "../ui/states.js";

const placeholder = "wmk_trace_…";

/** Three ways to send the first trace, with a key in them after one click. */
export function FirstTrace() {
  const me = useMe();
  const [key, setKey] = useState<string>();
  const create = useAction(async () => {
    const created = await api.post<CreatedKey>("/keys", { name: "First trace", service: "trace" });
    setKey(created.key);
  });
  if (!me.data) return <Skeleton />;
  const examples = examplesOf(me.data.traceApiUrl.replace(/\/$/, ""), key ?? placeholder);
  return (
    <div class="first-trace">
      <p class="waiting-line">
        <span class="mark is-running is-live" /> Waiting for the first trace. This page turns into the list by itself.
      </p>
      {create.error && <Banner tone="error">{create.error.message}</Banner>}
      <Panel>
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

function examplesOf(url: string, key: string) {
  const [started_at, ended_at] = [2_000, 0].map((ms) => new Date(Date.now() - ms).toISOString());
  const times = { started_at, ended_at };
  const trace = { agent_id: "first-agent", name: "My first trace", status: "success", ...times };
  const span = { name: "call the model", status: "ok", ...times, input: "Hello", output: "Hello! How can I help?" };
  const curl = `AUTH="Authorization: Bearer ${key}"
JSON="Content-Type: application/json"
TRACE=$(curl -s -H "$AUTH" -H "$JSON" ${url}/api/v1/traces \\
  -d '${JSON.stringify(trace)}' | cut -d '"' -f 4)
curl -s -H "$AUTH" -H "$JSON" ${url}/api/v1/traces/$TRACE/spans \\
  -d '${JSON.stringify(span)}'`;
  const otel = `OTEL_EXPORTER_OTLP_ENDPOINT=${url}
OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20${key}`;
  const script = `import { createWaymark } from "@waymark/client";

const waymark = createWaymark({ key: "${key}", url: "${url}" });
await waymark.trace({ agent_id: "first-agent", name: "My first trace" }, async () => {
  // your agent's work
});
await waymark.shutdown();`;
  return [
    { title: "curl", text: curl },
    { title: "OpenTelemetry", text: otel },
    { title: "TypeScript", text: script },
  ];
}
