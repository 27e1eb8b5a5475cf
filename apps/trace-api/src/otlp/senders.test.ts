import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import type { Span, Trace } from "@waymark/client";
import { type TestAccount, useApp } from "../app.fixture.js";
import { encode } from "../grpc/grpc.fixture.js";
import { readFixture, sendOtlp } from "./otlp.fixture.js";

interface Sender {
  sender: string;
  version: string;
  request?: object;
  /** A request of log records. */
  logs?: object;
}

const document = readFileSync(new URL("../../SENDERS.md", import.meta.url), "utf8");
const [, table = ""] = /\n\| sender .*\n\| -.*\n((?:\|.*\n)+)/.exec(document) ?? [];
const rows = new Map(
  table
    .trimEnd()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, sender = "", ...cells]) => [sender, cells.slice(0, -2)]),
);
const recordings = readFixture<Sender>("senders.ndjson");

const forms = {
  JSON: { type: "application/json", write: (request: object) => Buffer.from(JSON.stringify(request)) },
  protobuf: {
    type: "application/x-protobuf",
    write: (request: object) => encode("resourceLogs" in request ? "logs" : "traces", withBase64(request)),
  },
} as const;

/** Ids are hexadecimal in OTLP's JSON, and base64 in that of protobuf. */
function withBase64(request: object): object {
  const toBase64 = (key: string, value: unknown) =>
    typeof value === "string" && /^(traceId|spanId|parentSpanId)$/.test(key)
      ? Buffer.from(value, "hex").toString("base64")
      : value;
  return JSON.parse(JSON.stringify(request), toBase64);
}

/** The kinds of the spans with texts, and which half of them where the other never came. */
function textsOf(spans: readonly Span[]): string {
  const kinds = [...new Set(spans.map(({ kind }) => kind ?? "other"))].filter((kind) => kind !== "other").sort();
  const texts = kinds.map((kind) => {
    const own = spans.filter((span) => span.kind === kind);
    if (own.some(({ input, output }) => input !== null && output !== null)) return kind;
    const half = own.some(({ input }) => input !== null) ? "in" : "out";
    return own.some(({ input, output }) => input !== null || output !== null) ? `${kind} ${half}` : `no ${kind}`;
  });
  return code(texts.join(", "));
}

const code = (text: string) => `\`${text}\``;
const mark = (isThere: unknown) => (isThere ? "✓" : "–");

function cellsOf(version: string, { agent_id, name, spans, usage, session_id, user_id }: Trace): string[] {
  const marks = [(usage?.input_tokens ?? 0) > 0, usage?.cost_usd, session_id, user_id].map(mark);
  return [code(version), code(agent_id), code(name), textsOf(spans), ...marks];
}

describe("the senders of SENDERS.md", () => {
  const test = useApp();

  async function readOne(account: TestAccount): Promise<Trace> {
    const { body } = await account.get("/api/v1/traces").expect(200);
    expect(body.traces).toHaveLength(1);
    return (await account.get(`/api/v1/traces/${body.traces[0].id}?include=kind,usage,labels`).expect(200)).body;
  }

  it("have a recording each, and each recording a row", () => {
    expect([...rows.keys()].sort()).toEqual(recordings.map(({ sender }) => sender).sort());
  });

  for (const [form, { type, write }] of Object.entries(forms)) {
    it.each(recordings)(`bring in ${form} what the row of $sender says`, async ({ sender, version, request, logs }) => {
      const account = await test.makeAccount("pro");
      const send = (body: object, path: string) => sendOtlp(account, write(body), type, { path }).expect(200);
      if (logs) await send(logs, "/v1/logs");
      if (request) await send(request, "/v1/traces");
      expect(rows.get(sender)).toEqual(cellsOf(version, await readOne(account)));
    });
  }
});
