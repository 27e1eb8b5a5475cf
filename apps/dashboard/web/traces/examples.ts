export function examplesOf({ url, key, agent, now }: { url: string; key: string; agent: string; now: Date }) {
  const [started_at, ended_at] = [2_000, 0].map((ms) => new Date(now.getTime() - ms).toISOString());
  const times = { started_at, ended_at };
  const trace = { agent_id: agent, name: "My first trace", status: "success", ...times };
  const span = { name: "call the model", status: "ok", ...times, input: "Hello", output: "Hello! How can I help?" };
  const curl = `AUTH="Authorization: Bearer ${key}"
JSON="Content-Type: application/json"
TRACE=$(curl -s -H "$AUTH" -H "$JSON" ${url}/api/v1/traces \\
  -d ${quoted(JSON.stringify(trace))} | cut -d '"' -f 4)
curl -s -H "$AUTH" -H "$JSON" ${url}/api/v1/traces/$TRACE/spans \\
  -d ${quoted(JSON.stringify(span))}`;
  const otel = `OTEL_SERVICE_NAME=${/^[\w.-]+$/.test(agent) ? agent : quoted(agent)}
OTEL_EXPORTER_OTLP_ENDPOINT=${url}
OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20${key}`;
  const script = `import { createWaymark } from "@waymark/client";

const waymark = createWaymark({ key: "${key}", url: "${url}" });
await waymark.trace({ agent_id: ${JSON.stringify(agent)}, name: "My first trace" }, async () => {
  // your agent's work
});
await waymark.shutdown();`;
  const python = `import waymark

client = waymark.Waymark(key="${key}", url="${url}")
with client.start_trace(agent_id=${JSON.stringify(agent)}, name="My first trace"):
    pass  # your agent's work
client.close()`;
  return [
    { title: "In your agent's folder", text: `WAYMARK_TRACE_URL=${url} WAYMARK_TRACE_KEY=${key} npx waymark init` },
    { title: "curl", text: curl },
    { title: "OpenTelemetry", text: otel },
    { title: "TypeScript", text: script },
    { title: "Python", text: python },
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
