import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { jsonOf, readRecordings, sendJson } from "../otlp/otlp.fixture.js";

const given = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 12, list: [1, { a: null }] };
/** Texts that parsing and writing again would change. */
const odd = '{"z":1.50,"10":12345678901234567890,"a":"\\u0000\\/","z":null}';

describe("attributes of spans in JSON", () => {
  const test = useApp();

  const makeSpan = async (account: TestAccount, body: Record<string, unknown> = {}) => {
    const traceId = await account.makeTrace();
    const { body: made } = await account.post(`/api/v1/traces/${traceId}/spans`, spanBody(body)).expect(201);
    return { traceId, path: `/api/v1/traces/${traceId}/spans/${made.span_id}` };
  };
  const readSpans = async (account: TestAccount, traceId: string) =>
    (await account.get(`/api/v1/traces/${traceId}?include=attributes`).expect(200)).body.spans;

  it("come back with include=attributes, and without it the answer stays as it was", async () => {
    const account = await test.makeAccount("free");
    const { traceId } = await makeSpan(account, { attributes: given });
    expect(await readSpans(account, traceId)).toMatchObject([{ attributes: given }]);
    const { body } = await account.get(`/api/v1/traces/${traceId}`).expect(200);
    expect(Object.keys(body.spans[0])).not.toContain("attributes");
  });

  it("of a batch come back with their spans, null and absent ones as null", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const spans = [{ attributes: given }, {}, { attributes: null }, { attributes: {} }].map((each) => spanBody(each));
    await account.post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201);
    const read = await readSpans(account, traceId);
    expect(read.map(({ attributes }: { attributes: unknown }) => attributes)).toEqual([given, null, null, {}]);
  });

  it("keep their text", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const body = JSON.stringify(spanBody()).replace(/}$/, `,"attributes": ${odd} }`);
    await account.post(`/api/v1/traces/${traceId}/spans`).type("json").send(body).expect(201);
    const batch = `{"spans":[${body}]}`;
    await account.post(`/api/v1/traces/${traceId}/spans/batch`).type("json").send(batch).expect(201);
    const { text } = await account.get(`/api/v1/traces/${traceId}?include=attributes`).expect(200);
    expect(text.split(`"attributes":${odd}}`)).toHaveLength(3);
  });

  it("belong to the request that an idempotency key stands for", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const key = randomUUID();
    const send = (attributes: object) =>
      account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ attributes })).set("Idempotency-Key", key);
    const first = await send(given).expect(201);
    const again = await send(given).expect(201).expect("Idempotent-Replayed", "true");
    expect(again.body).toEqual(first.body);
    await send({ other: 1 }).expect(422);
    expect(await readSpans(account, traceId)).toMatchObject([{ attributes: given }]);
  });

  it.each([[[1]], ["text"], [7], [true]])("answers 400 for %j", async (attributes) => {
    const account = await test.makeAccount("free");
    const { traceId, path } = await makeSpan(account);
    const fields = { attributes: "Must be a JSON object or null" };
    const refused = await account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ attributes })).expect(400);
    expect(refused.body.fields).toEqual(fields);
    expect((await account.patch(path, { attributes }).expect(400)).body.fields).toEqual(fields);
  });

  it("take a mebibyte and no byte more, also together with those that are there", async () => {
    const account = await test.makeAccount("free");
    const most = { text: "x".repeat(1_048_576 - '{"text":""}'.length) };
    const { traceId, path } = await makeSpan(account, { attributes: most });
    const fields = { attributes: "Must not take more than 1048576 bytes as JSON" };
    const above = { text: `${most.text}x` };
    const refused = await account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ attributes: above })).expect(400);
    expect(refused.body.fields).toEqual(fields);
    expect((await account.patch(path, { attributes: { b: 1 }, error: "x" }).expect(400)).body.fields).toEqual(fields);
    const [span] = await readSpans(account, traceId);
    expect(span).toMatchObject({ attributes: most, error: null });
    await account.patch(path, { attributes: { text: "y", b: 1 } }).expect(200);
    expect(await readSpans(account, traceId)).toMatchObject([{ attributes: { text: "y", b: 1 } }]);
  });

  describe("in a PATCH", () => {
    it("replace members, add members and remove those that are null", async () => {
      const account = await test.makeAccount("free");
      const { traceId, path } = await makeSpan(account, { attributes: { a: 1, b: { c: 1 }, d: null } });
      await account
        .patch(path, { attributes: { b: { e: 2 }, a: null, f: 3 }, status: "error", error: "x" })
        .expect(200);
      const [span] = await readSpans(account, traceId);
      expect(span).toMatchObject({ status: "error", error: "x", attributes: { b: { e: 2 }, d: null, f: 3 } });
      expect(span.attributes).not.toHaveProperty("a");
      await account.patch(path, { status: "ok" }).expect(200);
      expect((await readSpans(account, traceId))[0].attributes).toEqual({ b: { e: 2 }, d: null, f: 3 });
      await account.patch(path, { attributes: null }).expect(200);
      expect((await readSpans(account, traceId))[0].attributes).toBeNull();
      await account.patch(path, { attributes: { g: 1 } }).expect(200);
      expect((await readSpans(account, traceId))[0].attributes).toEqual({ g: 1 });
    });

    it("of many requests at once lose nothing", async () => {
      const account = await test.makeAccount("free");
      const { traceId, path } = await makeSpan(account);
      const numbers = Array.from({ length: 20 }, (_, n) => n);
      await Promise.all(numbers.map((n) => account.patch(path, { attributes: { [`k${n}`]: n } }).expect(200)));
      const [{ attributes }] = await readSpans(account, traceId);
      expect(attributes).toEqual(Object.fromEntries(numbers.map((n) => [`k${n}`, n])));
    });

    it("wait for another transaction's lock", async () => {
      const account = await test.makeAccount("free");
      const { traceId, path } = await makeSpan(account, { attributes: { a: 1 } });
      const held = await test.hold("UPDATE span SET error = 'held' WHERE trace_id = $1", [traceId]);
      const patched = account.patch(path, { attributes: { b: 2 } }).then(({ status }) => status);
      await test.untilLockWaits();
      await held.commit();
      expect(await patched).toBe(200);
      expect(await readSpans(account, traceId)).toMatchObject([{ attributes: { a: 1, b: 2 }, error: "held" }]);
    });

    it("leave the rest of a span from OpenTelemetry as it is", async () => {
      const account = await test.makeAccount("pro");
      const [recording] = readRecordings();
      expect(jsonOf(await sendJson(account, recording?.json ?? "").expect(200))).toEqual({});
      const { rows } = await test.pool.query("SELECT id FROM trace WHERE account_id = $1", [account.id]);
      const [before] = await readSpans(account, rows[0].id);
      const path = `/api/v1/traces/${rows[0].id}/spans/${before.id}`;
      await account.patch(path, { attributes: { added: 1 } }).expect(200);
      const [after] = await readSpans(account, rows[0].id);
      expect(after).toEqual({ ...before, attributes: { ...before.attributes, added: 1 } });
      await account.patch(path, { attributes: null }).expect(200);
      expect((await readSpans(account, rows[0].id))[0]).toEqual({ ...before, attributes: {} });
    });

    it("answer 404 for another account's span, and for an unknown one", async () => {
      const account = await test.makeAccount("free");
      const other = await test.makeAccount("free");
      const { traceId, path } = await makeSpan(account, { attributes: given });
      await other.patch(path, { attributes: { a: 1 } }).expect(404, { error: "Trace not found" });
      const unknown = `/api/v1/traces/${traceId}/spans/${randomUUID()}`;
      await account.patch(unknown, { attributes: { a: 1 } }).expect(404, { error: "Span not found" });
      expect(await readSpans(account, traceId)).toMatchObject([{ attributes: given }]);
    });
  });
});
