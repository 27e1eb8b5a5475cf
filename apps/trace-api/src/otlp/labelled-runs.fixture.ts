import { createHash } from "node:crypto";
import { beforeAll, expect } from "@jest/globals";
import type { TestAccount, TestApp } from "../app.fixture.js";
import { call, encode, keyOf, useGrpc } from "../grpc/grpc.fixture.js";
import { keyValues, logRecord, sendOtlp } from "./otlp.fixture.js";

interface Labels extends Record<"session_id" | "user_id" | "environment" | "release", string | null> {
  tags: readonly string[];
}

export const senders = ["spans", "claude", "codex"] as const;
export const transports = ["json", "protobuf", "grpc"] as const;

/** A run with its labels as a sender of OpenTelemetry tells it, at moments of ISO 8601. */
interface LabelledRun {
  sender: (typeof senders)[number];
  transport: (typeof transports)[number];
  agent_id: string;
  status: string;
  labels: Labels;
  at: string;
  calls: readonly { at: string; attributes: Readonly<Record<string, string | number>> }[];
}

type Sent = Omit<LabelledRun, "transport"> & { name: string };
type Values = Readonly<Record<string, unknown>>;

const given = (values: Values) => keyValues(Object.fromEntries(Object.entries(values).filter(([, v]) => v !== null)));

/** A root with a span for each call; the labels stand at the root. */
function spansOf({ name, agent_id, status, labels, at, calls }: Sent, idOf: (hex: string) => string | Buffer) {
  const traceId = idOf(createHash("md5").update(name).digest("hex"));
  const [rootId, ...ids] = [undefined, ...calls].map((_, n) => idOf(`${n + 1}`.padStart(16, "0")));
  const told = {
    "session.id": labels.session_id,
    "user.id": labels.user_id,
    "deployment.environment.name": labels.environment,
    "langfuse.release": labels.release,
    "tag.tags": labels.tags,
  };
  const spanOf = (time: string, attributes: Values, members: object) => {
    const nanos = `${Date.parse(time)}000000`;
    const times = { startTimeUnixNano: nanos, endTimeUnixNano: nanos };
    return { traceId, name: "step", ...times, attributes: given(attributes), ...members };
  };
  const spans = [
    spanOf(at, told, { spanId: rootId, name, status: { code: status === "error" ? 2 : 1 } }),
    ...calls.map((each, n) => spanOf(each.at, each.attributes, { spanId: ids[n], parentSpanId: rootId })),
  ];
  return {
    resourceSpans: [{ resource: { attributes: given({ "service.name": agent_id }) }, scopeSpans: [{ spans }] }],
  };
}

/** A prompt and an event for each call. Session and user stand at the events, the other labels at the resource. */
function eventsOf({ sender, name, agent_id, status, labels, at, calls }: Sent) {
  const isCodex = sender === "codex";
  const session = { [isCodex ? "conversation.id" : "session.id"]: labels.session_id, "user.id": labels.user_id };
  // A conversation's prompts are told apart by their time alone.
  const part = Number.parseInt(createHash("md5").update(name).digest("hex").slice(0, 4), 16);
  const nanosAt = (time: string) => `${Date.parse(time)}${String(part).padStart(6, "0")}`;
  const event = (time: string, kind: string, values: Values) =>
    logRecord({
      timeUnixNano: nanosAt(time),
      attributes: {
        "event.name": `${isCodex ? "codex" : "claude_code"}.${kind}`,
        ...session,
        "prompt.id": name,
        ...values,
      },
    });
  const callOf = (attributes: Values, n: number): [kind: string, values: Values] => {
    const tokens = (kind: string) => Number(attributes[`gen_ai.usage.${kind}`]);
    const [input, cached, output] = [
      tokens("input_tokens"),
      tokens("cache_read.input_tokens"),
      tokens("output_tokens"),
    ];
    const model = attributes["gen_ai.request.model"];
    if (isCodex) {
      const counts = { input_token_count: `${input}`, output_token_count: output, cached_token_count: cached };
      return ["sse_event", { model, "event.kind": "response.completed", "event.sequence": n, ...counts }];
    }
    const counts = { input_tokens: input - cached, output_tokens: output, cache_read_tokens: `${cached}` };
    return ["api_request", { model, request_id: `${n}`, ...counts }];
  };
  const logRecords = [
    event(at, "user_prompt", { prompt: name }),
    ...calls.map((each, n) => event(each.at, ...callOf(each.attributes, n))),
    ...(status === "error" ? [event(at, "api_error", { error: "Overloaded" })] : []),
  ];
  const { environment, release, tags } = labels;
  const told = { "deployment.environment.name": environment, "service.version": release, "langfuse.trace.tags": tags };
  const resource = { attributes: given({ "service.name": agent_id, ...told }) };
  return { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] };
}

/** Sends runs by HTTP and gRPC. @returns a function whose answer is the trace's id; `name` is the account's own of the run */
export function useLabelledRuns(test: TestApp) {
  const open = useGrpc(test);
  let port = 0;
  beforeAll(async () => {
    ({ port } = await open());
  });
  return async (account: TestAccount, { transport, ...run }: LabelledRun, name: string): Promise<string> => {
    const sent = { ...run, name };
    const signal = run.sender === "spans" ? "traces" : "logs";
    const idOf = (hex: string) => (transport === "json" ? hex : Buffer.from(hex, "hex"));
    const request = signal === "traces" ? spansOf(sent, idOf) : eventsOf(sent);
    const path = `/v1/${signal}`;
    if (transport === "grpc") expect(await call(port, signal, request, keyOf(account))).toEqual({});
    else if (transport === "json")
      await sendOtlp(account, Buffer.from(JSON.stringify(request)), "application/json", { path }).expect(200);
    else await sendOtlp(account, encode(signal, request), "application/x-protobuf", { path }).expect(200);
    const sql = "SELECT id FROM trace WHERE account_id = $1 AND name = $2";
    const { rows } = await test.pool.query<{ id: string }>(sql, [account.id, name]);
    expect(rows).toHaveLength(1);
    return rows[0]?.id ?? "";
  };
}
