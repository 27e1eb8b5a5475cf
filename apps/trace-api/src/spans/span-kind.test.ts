import { describe, expect, it } from "@jest/globals";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { readRecordings, sendJson } from "../otlp/otlp.fixture.js";

describe("the kind of spans", () => {
  const test = useApp();
  type Kinds = Record<string, string | null>;

  const readKinds = async (account: TestAccount, traceId: string, query: string): Promise<Kinds> => {
    const { body } = await account.get(`/api/v1/traces/${traceId}?${query}`).expect(200);
    return Object.fromEntries(body.spans.map(({ name, kind }: { name: string; kind: string }) => [name, kind]));
  };

  it("comes back with include=kind, as sent or as the attributes tell it", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const add = (body: Record<string, unknown>) => account.post(`/api/v1/traces/${traceId}/spans`, spanBody(body));
    await add({ name: "a", kind: "retrieval" }).expect(201);
    const spans = [
      { name: "b", kind: "agent", attributes: { "gen_ai.operation.name": "chat" } },
      { name: "c", attributes: { "gen_ai.operation.name": "chat" } },
      { name: "d", kind: null },
      { name: "e" },
    ].map((span) => spanBody(span));
    await account.post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201);
    const kinds = { a: "retrieval", b: "agent", c: "model", d: null, e: null };
    expect(await readKinds(account, traceId, "include=kind")).toEqual(kinds);
    expect(await readKinds(account, traceId, "include=usage,attributes,kind")).toEqual(kinds);
    const { body } = await account.get(`/api/v1/traces/${traceId}`).expect(200);
    for (const span of body.spans) expect(span).not.toHaveProperty("kind");
  });

  it("chooses spans, with a tag of the choice; those without a kind are other", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace({ status: "success", ended_at: "2026-06-01T12:00:01Z" });
    const spans = [{ name: "a", kind: "tool" }, { name: "b", kind: "model" }, { name: "c" }].map((each) =>
      spanBody(each),
    );
    await account.post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201);
    const names = async (kind: string) => Object.keys(await readKinds(account, traceId, `kind=${kind}`));
    expect(await names("tool")).toEqual(["a"]);
    expect(await names("other,model")).toEqual(["b", "c"]);
    expect(await names("agent")).toEqual([]);
    const path = `/api/v1/traces/${traceId}?kind=`;
    const { headers } = await account.get(`${path}tool`).expect(200);
    const tag = String(headers["etag"]);
    await account.get(`${path}tool`).set("If-None-Match", tag).expect(304);
    await account.get(`${path}model`).set("If-None-Match", tag).expect(200);
    const other = await test.makeAccount("free");
    await other.get(`${path}tool`).expect(404);
  });

  it("answers 400 to a kind that is none, in a body and in a query", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const wrong = await account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ kind: "llm" })).expect(400);
    expect(wrong.body.fields).toHaveProperty("kind");
    const { body } = await account.get(`/api/v1/traces/${traceId}?kind=tool,llm`).expect(400);
    expect(body.fields.kind).toMatch(/^Must be one or several of these/);
  });

  it("of spans from OpenTelemetry is stored, other where no convention tells it", async () => {
    const account = await test.makeAccount("pro");
    for (const { json } of readRecordings()) await sendJson(account, json).expect(200);
    const { rows } = await test.pool.query<{ name: string; kind: string }>(
      "SELECT DISTINCT name, kind FROM span WHERE account_id = $1 AND name = ANY ($2)",
      [account.id, ["chat gpt-4o-mini", "ai.generateText", "I'm a server span"]],
    );
    expect(rows.map(({ kind }) => kind)).not.toContain(null);
    expect(Object.fromEntries(rows.map(({ name, kind }) => [name, kind]))).toMatchObject({
      "I'm a server span": "other",
    });
  });
});
