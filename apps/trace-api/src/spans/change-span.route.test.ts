import { describe, expect, it } from "@jest/globals";
import { plans } from "@waymark/plan";
import { Registry } from "prom-client";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { createGroupCommitFactory } from "../batching/group-commit.js";
import { createUsagePricer } from "../model-calls/model-call.js";
import { createSpanChanger } from "./change-span.query.js";

const unknownId = "00000000-0000-7000-8000-000000000000";

describe("PATCH /api/v1/traces/:trace_id/spans/:span_id", () => {
  const test = useApp();

  const full = spanBody({
    status: "error",
    ended_at: "2026-06-01T12:00:02.000Z",
    input: { question: 1 },
    output: { answer: 2 },
    error: "it broke",
    parent_span_id: "parent",
  });
  const makeSpan = async (account: TestAccount, body: Record<string, unknown> = full) => {
    const traceId = await account.makeTrace();
    const { body: made } = await account.post(`/api/v1/traces/${traceId}/spans`, body).expect(201);
    const spanId: string = made.span_id;
    const path = `/api/v1/traces/${traceId}/spans/${spanId}`;
    const read = async () => (await account.get(`/api/v1/traces/${traceId}`).expect(200)).body.spans[0];
    return { traceId, spanId, path, read };
  };

  describe("200", () => {
    it.each([
      [{}],
      [{ status: "ok" }],
      [{ ended_at: "2026-06-01T12:00:09.000Z" }],
      [{ output: ["other"] }],
      [{ error: "it broke otherwise" }],
      [{ ended_at: null }],
      [{ output: null }],
      [{ error: null }],
      [{ status: "ok", ended_at: null, output: 0, error: "" }],
    ])("changes what is given and nothing else: %j", async (changes) => {
      const account = await test.makeAccount("free");
      const { path, spanId, read } = await makeSpan(account);
      const answer = await account.patch(path, changes).expect(200);
      expect(answer.body).toEqual({ ok: true });
      expect(await read()).toEqual({ ...full, ...changes, id: spanId });
    });

    it("ignores what may not change: name, start, input, parent", async () => {
      const account = await test.makeAccount("free");
      const { path, spanId, read } = await makeSpan(account);
      const others = { id: unknownId, name: "x", started_at: "2020-01-01T00:00:00Z", input: 1, parent_span_id: "x" };
      await account.patch(path, others).expect(200);
      expect(await read()).toEqual({ ...full, id: spanId });
    });

    it.each(["-0", '"\\u0000"', "1e400", "12345678901234567890.10", '{"b":1,"a":2,"b":3}'])(
      "keeps the output %s exactly",
      async (json) => {
        const account = await test.makeAccount("free");
        const { path, traceId } = await makeSpan(account);
        await account.patch(path).type("json").send(`{"output": ${json} }`).expect(200);
        expect((await account.get(`/api/v1/traces/${traceId}`)).text).toContain(`"output":${json},"error"`);
      },
    );

    it("applies changes of one span in the order they came, and of others beside them", async () => {
      const account = await test.makeAccount("pro");
      const spans = await Promise.all([makeSpan(account), makeSpan(account)]);
      const change = createSpanChanger({
        pool: test.pool,
        createGroupCommit: createGroupCommitFactory(new Registry()),
        priceUsage: createUsagePricer(),
      });
      await Promise.all(
        Array.from({ length: 40 }, (_, n) => {
          const { traceId = "", spanId = "" } = spans[n % 2] ?? {};
          const counted = { month: "2026-01-01", plan: plans.pro, bytes: 300 };
          return change({ accountId: account.id, traceId, spanId, ...counted, change: { error: `${n}` } });
        }),
      );
      for (const [n, { read }] of spans.entries()) expect((await read()).error).toBe(`${38 + n}`);
    });

    it("is a write of the span: its moment is kept", async () => {
      const account = await test.makeAccount("free");
      const { path, spanId } = await makeSpan(account);
      const writtenAt = async () => {
        const { rows } = await test.pool.query("SELECT written_at FROM span WHERE id = $1", [spanId]);
        return rows[0].written_at.getTime();
      };
      await test.pool.query("UPDATE span SET written_at = '2026-01-01' WHERE id = $1", [spanId]);
      await account.patch(path, { status: "ok" }).expect(200);
      expect(await writtenAt()).toBeGreaterThan(Date.now() - 60_000);
    });

    it("takes ids in capital letters", async () => {
      const account = await test.makeAccount("free");
      const { traceId, spanId } = await makeSpan(account);
      await account.patch(`/api/v1/traces/${traceId.toUpperCase()}/spans/${spanId.toUpperCase()}`, {}).expect(200);
    });
  });

  describe("400", () => {
    it.each([
      [{ status: "success" }, { status: "Must be one of: ok, error" }],
      [{ status: null }, { status: "May be left out, else must be one of: ok, error" }],
      [{ ended_at: "later" }, { ended_at: expect.stringMatching(/ISO 8601/) }],
      [{ error: 7 }, { error: "Must be a string, not a number" }],
      [{ error: "\u0000" }, { error: "Must not contain the NUL character (U+0000)" }],
    ])("refuses %j and changes nothing", async (changes, fields) => {
      const account = await test.makeAccount("free");
      const { path, spanId, read } = await makeSpan(account);
      const answer = await account.patch(path, { output: 1, ...changes }).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields });
      expect(await read()).toEqual({ ...full, id: spanId });
    });

    it("comes before 404", async () => {
      const account = await test.makeAccount("free");
      await account.patch("/api/v1/traces/unknown/spans/unknown", { status: 1 }).expect(400);
    });
  });

  describe("404", () => {
    it("says whether the trace or the span is missing", async () => {
      const account = await test.makeAccount("free");
      const { traceId, spanId } = await makeSpan(account);
      const ask = (trace: string, span: string) => account.patch(`/api/v1/traces/${trace}/spans/${span}`, {});
      const other = await account.makeTrace();
      for (const trace of ["unknown", unknownId]) await ask(trace, spanId).expect(404, { error: "Trace not found" });
      for (const span of ["unknown", unknownId]) await ask(traceId, span).expect(404, { error: "Span not found" });
      await ask(other, spanId).expect(404, { error: "Span not found" });
    });

    it("answers it for another account's span, and changes nothing", async () => {
      const [owner, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
      const { path, spanId, read } = await makeSpan(owner);
      const own = await makeSpan(other);
      await other.patch(path, { status: "ok" }).expect(404, { error: "Trace not found" });
      await other
        .patch(own.path.replace(own.spanId, spanId), { status: "ok" })
        .expect(404, { error: "Span not found" });
      expect(await read()).toEqual({ ...full, id: spanId });
    });
  });

  it("leaves a long read whole: each span comes once, as it was before or after the change", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const padding = "x".repeat(2_000);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const spans = Array.from({ length: 1_000 }, () => spanBody({ output: `old ${padding}` }));
      ids.push(...(await account.post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201)).body.span_ids);
    }
    let isRead = false;
    const changing = (async () => {
      for (let n = 0; !isRead; n = (n + 7) % ids.length) {
        const output = `new ${padding.slice(0, (n % 5) * 400)}`;
        await account.patch(`/api/v1/traces/${traceId}/spans/${ids[n]}`, { output }).expect(200);
      }
    })();
    for (let n = 0; n < 3; n++) {
      const { text } = await account.get(`/api/v1/traces/${traceId}`).expect(200);
      const spans: { id: string; output: string }[] = JSON.parse(text).spans;
      expect(spans.map(({ id }) => id)).toEqual(ids);
      for (const { output } of spans) expect(output).toMatch(/^(old|new) x*$/);
    }
    isRead = true;
    await changing;
  });
});
