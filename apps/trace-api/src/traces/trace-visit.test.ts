import { describe, expect, it } from "@jest/globals";
import { hashOfVisit } from "@waymark/traces";
import { type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { sendJson } from "../otlp/otlp.fixture.js";

const token = "9f86d081884c7d659a2feaa0c55ad015";

describe("the visit of a trace", () => {
  const test = useApp();

  async function makeAccount({ isOn = true } = {}) {
    const account = await test.makeAccount("pro");
    await test.pool.query("INSERT INTO site (id, account_id, domain, name, costs_until) VALUES ($1, $1, $2, 's', $3)", [
      account.id,
      `${account.id}.example`,
      isOn ? "2026-01-01" : null,
    ]);
    return account;
  }
  const visitsOf = async ({ id }: TestAccount) => {
    const sql = "SELECT trace_id, encode(visit, 'hex') AS visit FROM trace_visit WHERE account_id = $1";
    const { rows } = await test.pool.query<{ trace_id: string; visit: string }>(sql, [id]);
    return Object.fromEntries(rows.map(({ trace_id: trace, visit }) => [trace, visit]));
  };

  it("201: is kept as a hash, also with an idempotency key, and in no answer", async () => {
    const account = await makeAccount();
    const id = await account.makeTrace({ visit: token });
    await account.makeTrace();
    await account.makeTrace({ visit: null });
    const keyed = () => account.post("/api/v1/traces", traceBody({ visit: token })).set("Idempotency-Key", "k");
    const { body } = await keyed().expect(201);
    await keyed().expect(201, body);
    expect(await visitsOf(account)).toMatchObject({ [id]: hashOfVisit(token), [body.trace_id]: hashOfVisit(token) });
    const read = await account.get(`/api/v1/traces/${id}?include=labels,attributes,usage`).expect(200);
    expect(read.text).not.toContain("visit");
    await account.delete(`/api/v1/traces/${id}`).expect(200);
    expect(await visitsOf(account)).not.toHaveProperty(id);
  });

  it("201: is nothing for an account whose sites do not want it", async () => {
    const account = await makeAccount({ isOn: false });
    await account.makeTrace({ visit: token });
    expect(await visitsOf(account)).toEqual({});
  });

  it("201: takes any token within the bound: nobody knows an old or foreign one", async () => {
    const account = await makeAccount();
    for (const visit of ["x", "é".repeat(200)]) await account.makeTrace({ visit });
    expect(Object.keys(await visitsOf(account))).toHaveLength(2);
  });

  it.each([
    ["", "Must not be empty"],
    ["v".repeat(201), "Must be at most 200 characters"],
    [7, "Must be a string, not a number"],
    ["a\u0000", "Must not contain the NUL character (U+0000)"],
  ])("400: refuses %j", async (visit, message) => {
    const account = await makeAccount();
    const { body } = await account.post("/api/v1/traces", traceBody({ visit })).expect(400);
    expect(body).toEqual({ error: "Validation failed", fields: { visit: message } });
  });

  it("comes in an attribute of any span of OpenTelemetry, the first one stays, and it is left out of what is stored", async () => {
    const account = await makeAccount();
    const span = (n: number, visit: string | undefined) => ({
      traceId: "1".repeat(32),
      spanId: `${n}`.repeat(16),
      ...(n > 1 && { parentSpanId: "1".repeat(16) }),
      name: "step",
      startTimeUnixNano: "1780315200000000000",
      endTimeUnixNano: "1780315201000000000",
      attributes: [
        { key: "other", value: { stringValue: "stays" } },
        ...(visit === undefined ? [] : [{ key: "waymark.visit", value: { stringValue: visit } }]),
      ],
    });
    const send = (...spans: object[]) =>
      sendJson(account, { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans }] }] }).expect(200);
    await send(span(1, undefined), span(2, "v".repeat(201)));
    expect(await visitsOf(account)).toEqual({});
    await send(span(3, token), span(4, "another"));
    await send(span(5, "a third"));
    const [[id = "", visit] = []] = Object.entries(await visitsOf(account));
    expect(visit).toBe(hashOfVisit(token));
    const { text, body } = await account.get(`/api/v1/traces/${id}?include=attributes`).expect(200);
    expect(text).not.toContain("waymark.visit");
    expect(text).not.toContain(token);
    expect(body.spans).toHaveLength(5);
    for (const { attributes } of body.spans) expect(attributes).toEqual({ other: "stays" });
    const { rows } = await test.pool.query("SELECT s::text AS row FROM span s WHERE account_id = $1", [account.id]);
    expect(rows.some(({ row }) => row.includes("waymark.visit"))).toBe(false);
  });

  it("of spans that wait for a span of an agent waits with them, as a hash", async () => {
    const account = await makeAccount();
    await test.pool.query("UPDATE account SET keep = 'agents' WHERE id = $1", [account.id]);
    const span = (spanId: string, attributes: object[]) => ({
      traceId: "2".repeat(32),
      spanId,
      parentSpanId: "9".repeat(16),
      name: "step",
      startTimeUnixNano: "1780315200000000000",
      endTimeUnixNano: "1780315201000000000",
      attributes,
    });
    const send = (...spans: object[]) =>
      sendJson(account, { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans }] }] }).expect(200);
    await send(span("1".repeat(16), [{ key: "waymark.visit", value: { stringValue: token } }]));
    const { rows } = await test.pool.query("SELECT value FROM pending_span WHERE account_id = $1", [account.id]);
    expect(rows.every(({ value }) => !value.includes(token))).toBe(true);
    await send(span("2".repeat(16), [{ key: "gen_ai.operation.name", value: { stringValue: "chat" } }]));
    expect(Object.values(await visitsOf(account))).toEqual([hashOfVisit(token)]);
  });
});
