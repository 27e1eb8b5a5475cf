import { describe, expect, it } from "@jest/globals";
import type { Span } from "@waymark/client";
import { useApp } from "../app.fixture.js";
import {
  type RecordedTrace,
  readFixture,
  readRecordings,
  readTraces,
  sendJson,
  sendOtlp,
  sendProtobuf,
  withoutIds,
} from "./otlp.fixture.js";

const recordings = readRecordings();
const recorded = readFixture<RecordedTrace>("otlp-sdk.traces.ndjson");

describe("POST /v1/traces with recorded requests", () => {
  const test = useApp();
  const query = (text: string, values: unknown[]) => test.pool.query<{ id: string; otel: string }>(text, values);

  it.each(recordings)("stores the same for $name in JSON and in protobuf, plain and in gzip", async (recording) => {
    const [asJson, asProtobuf, zipped] = [
      await test.makeAccount("pro"),
      await test.makeAccount("pro"),
      await test.makeAccount("pro"),
    ];
    const answer = await sendJson(asJson, recording.json).expect(200).expect("Content-Type", "application/json");
    expect(answer.body.toString()).toBe("{}");
    const bytes = await sendProtobuf(asProtobuf, recording.protobuf)
      .expect(200)
      .expect("Content-Type", "application/x-protobuf");
    expect(bytes.body).toHaveLength(0);
    await sendOtlp(zipped, recording.protobuf, "application/x-protobuf", { encoding: "gzip" }).expect(200);
    const read = [asJson, asProtobuf, zipped].map(async (account) =>
      [...(await readTraces(account, query)).values()].map(withoutIds),
    );
    const [first, ...others] = await Promise.all(read);
    expect(first).not.toHaveLength(0);
    for (const other of others) expect(other).toEqual(first);
  });

  it.each(recorded)("reads back $recording as the trace that it shows", async (shown) => {
    const account = await test.makeAccount("pro");
    for (const { name, protobuf } of recordings) {
      if (name.startsWith(`${shown.recording}-`)) await sendProtobuf(account, protobuf).expect(200);
    }
    const traces = [...(await readTraces(account, query)).values()];
    expect(traces).toHaveLength(1);
    const [trace] = traces;
    if (!trace) throw new Error("there is one");
    expect(trace.agent_id).toBe(shown.trace.agent_id);
    expect(trace.status).toBe(shown.final.status === "success" ? "success" : "error");
    expect(Date.parse(trace.started_at)).toBe(Date.parse(shown.trace.started_at));
    expect(Date.parse(trace.ended_at ?? "")).toBe(Date.parse(shown.final.ended_at));
    const root = trace.spans.find(({ parent_span_id }) => parent_span_id === null);
    expect(root?.attributes?.["gen_ai.conversation.id"]).toBe(shown.trace.name);
    expect(tree(trace.spans, root?.id ?? null)).toEqual(expectedTree(shown, null));
  });
});

interface Step {
  name: string;
  steps: Step[];
}

/** The spans below a parent, with their fields. */
function tree(spans: readonly Span[], parent: string | null): Step[] {
  return inOrder(
    spans
      .filter(({ parent_span_id }) => parent_span_id === parent)
      .map(({ id, name, status, started_at, input, output, error }) => {
        const said = { status, at: Date.parse(started_at), input, output, error };
        return { name, ...said, steps: tree(spans, id) };
      }),
  );
}

function expectedTree(shown: RecordedTrace, parent: number | null): Step[] {
  return inOrder(
    shown.spans.flatMap((span, index) => {
      if (span.parent !== parent) return [];
      const { name, status, started_at, error } = span;
      const said = {
        status,
        at: Date.parse(started_at),
        input: asJson(span.input),
        output: asJson(span.output),
        error,
      };
      return [{ name, ...said, steps: expectedTree(shown, index) }];
    }),
  );
}

/** A string with a JSON object or array comes back as JSON. */
function asJson(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function inOrder(steps: Step[]): Step[] {
  return steps.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
