import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import type { Span, Trace } from "@waymark/client";
import { type TestAccount, useApp } from "../app.fixture.js";
import { readFixture, sendJson, sendOtlp } from "./otlp.fixture.js";

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

  it.each(recordings)("bring what the row of $sender says", async (recorded) => {
    const account = await test.makeAccount("pro");
    const { request, logs } = recorded;
    const sent = Buffer.from(JSON.stringify(logs ?? {}));
    if (logs) await sendOtlp(account, sent, "application/json", { path: "/v1/logs" }).expect(200);
    if (request) await sendJson(account, request).expect(200);
    const trace = await readOne(account);
    expect(rows.get(recorded.sender)).toEqual(cellsOf(recorded.version, trace));
  });
});
