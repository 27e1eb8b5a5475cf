import { describe, expect, it } from "@jest/globals";
import { type TestAccount, traceBody, useApp } from "../app.fixture.js";

const labels = {
  session_id: 'chat 7 "é" \\',
  user_id: "u-1",
  environment: "production",
  release: "2.1.0",
  tags: ["beta", 'with "quotes", commas and {braces} \\', "NULL"],
};
const none = { session_id: null, user_id: null, environment: null, release: null, tags: [] };

describe("the labels of a trace", () => {
  const test = useApp();
  const read = async (account: TestAccount, id: string) =>
    (await account.get(`/api/v1/traces/${id}?include=labels`).expect(200)).body;

  it("come back as sent where asked for, from each way to create, and from none otherwise", async () => {
    const account = await test.makeAccount("pro");
    await account.makeTrace();
    const alone = await account.makeTrace(labels);
    const bodies = Array.from({ length: 20 }, (_, n) => traceBody(n % 2 ? { ...labels, user_id: `u-${n}` } : {}));
    const together = await Promise.all(bodies.map((body) => account.makeTrace(body)));
    const keyed = await account.post("/api/v1/traces", traceBody(labels)).set("Idempotency-Key", "k").expect(201);
    const again = await account.post("/api/v1/traces", traceBody(labels)).set("Idempotency-Key", "k").expect(201);
    expect(again.body).toEqual(keyed.body);
    for (const id of [alone, keyed.body.trace_id]) expect(await read(account, id)).toMatchObject(labels);
    for (const [n, id] of together.entries()) {
      expect(await read(account, id)).toMatchObject(n % 2 ? { ...labels, user_id: `u-${n}` } : none);
    }
    expect(Object.keys((await account.get(`/api/v1/traces/${alone}`)).body)).toEqual([
      ...["id", "agent_id", "name", "status", "started_at", "ended_at", "metadata", "spans"],
    ]);
  });

  it("are taken at their limits, and each tag once", async () => {
    const account = await test.makeAccount("pro");
    const tags = Array.from({ length: 20 }, (_, n) => String(n).padEnd(100, "é"));
    const most = { session_id: "s".repeat(200), user_id: "u".repeat(200), environment: "e", release: "r", tags };
    expect(await read(account, await account.makeTrace(most))).toMatchObject(most);
    expect((await read(account, await account.makeTrace({ tags: ["a", "b", "a"] }))).tags).toEqual(["a", "b"]);
    expect(await read(account, await account.makeTrace({ ...none, tags: null }))).toMatchObject(none);
  });

  it.each([
    [{ session_id: "s".repeat(201) }, { session_id: "Must be at most 200 characters" }],
    [{ user_id: "" }, { user_id: "Must not be empty" }],
    [{ environment: 7 }, { environment: "Must be a string, not a number" }],
    [{ release: "a\u0000" }, { release: "Must not contain the NUL character (U+0000)" }],
    ...["a", [""], [7], [null], ["t".repeat(101)], Array.from({ length: 21 }, String), ["a\u0000"], {}].map(
      (tags) => [{ tags }, { tags: "Must be a list of at most 20 texts of 1 to 100 characters" }] as const,
    ),
  ])("are refused beyond them, by POST and PATCH: %j", async (body, fields) => {
    const account = await test.makeAccount("pro");
    const refusal = { error: "Validation failed", fields };
    expect((await account.post("/api/v1/traces", traceBody(body)).expect(400)).body).toEqual(refusal);
    const id = await account.makeTrace();
    expect((await account.patch(`/api/v1/traces/${id}`, body).expect(400)).body).toEqual(refusal);
  });

  it("change by PATCH: given ones alone, and null clears", async () => {
    const account = await test.makeAccount("pro");
    const id = await account.makeTrace(labels);
    await account.patch(`/api/v1/traces/${id}`, { status: "success" }).expect(200, { ok: true });
    expect(await read(account, id)).toMatchObject({ ...labels, status: "success" });
    await account.patch(`/api/v1/traces/${id}`, { user_id: null, release: "2.2.0", tags: ["x"] }).expect(200);
    const changed = { ...labels, user_id: null, release: "2.2.0", tags: ["x"] };
    expect(await read(account, id)).toMatchObject({ ...changed, status: "success" });
    await account.patch(`/api/v1/traces/${id}`, { ...none, tags: null }).expect(200);
    expect(await read(account, id)).toMatchObject(none);
  });

  it("change the ETag of the answer that has them", async () => {
    const account = await test.makeAccount("pro");
    const id = await account.makeTrace({ ...labels, status: "success" });
    const first = await account.get(`/api/v1/traces/${id}?include=labels`).expect(200);
    const etag = first.headers["etag"] ?? "";
    await account.get(`/api/v1/traces/${id}?include=labels`).set("If-None-Match", etag).expect(304);
    await account.patch(`/api/v1/traces/${id}`, { release: "3" });
    await account.get(`/api/v1/traces/${id}?include=labels`).set("If-None-Match", etag).expect(200);
  });

  it("count their bytes in the month", async () => {
    const [plain, labelled] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    await plain.makeTrace();
    await labelled.makeTrace({ session_id: "s".repeat(150), tags: ["t"] });
    const bytesOf = async (account: TestAccount) => (await account.get("/api/v1/usage")).body.bytes.current;
    expect((await bytesOf(labelled)) - (await bytesOf(plain))).toBe(150 + '{"t"}'.length);
  });
});
