import { describe, expect, it } from "@jest/globals";
import { spanBody, useApp } from "../app.fixture.js";

describe("POST /api/v1/traces/:trace_id/spans", () => {
  const test = useApp();

  describe("201", () => {
    it("answers the span's id and nothing else, and reads back every field", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const body = {
        name: "call",
        status: "error",
        started_at: "2026-06-01T12:00:01.000001Z",
        ended_at: "2026-06-01T12:00:02Z",
        input: { messages: [{ role: "user", content: "hello" }] },
        output: "text",
        error: "it broke\nbadly",
        parent_span_id: "not-a-uuid",
      };
      const answer = await account.post(`/api/v1/traces/${traceId}/spans`, body).expect(201);
      expect(answer.body).toEqual({ span_id: expect.any(String) });
      const { spans } = (await account.get(`/api/v1/traces/${traceId}`)).body;
      expect(spans).toEqual([{ ...body, id: answer.body.span_id, ended_at: "2026-06-01T12:00:02.000Z" }]);
    });

    it("gives null for what was omitted or null", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const nulls = { ended_at: null, input: null, output: null, error: null, parent_span_id: null };
      await account.post(`/api/v1/traces/${traceId}/spans`, spanBody()).expect(201);
      await account.post(`/api/v1/traces/${traceId}/spans`, spanBody(nulls)).expect(201);
      const { spans } = (await account.get(`/api/v1/traces/${traceId}`)).body;
      expect(spans).toEqual([1, 2].map(() => ({ ...spanBody(nulls), id: expect.any(String) })));
    });

    it("keeps 350,000 objects exactly, and refuses them if one is wrong", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const path = `/api/v1/traces/${traceId}/spans`;
      const objects = `[${'{"a":1.0},'.repeat(350_000)}{ }]`;
      const body = (input: string) => `{"x":[1,2],"input":${input},${JSON.stringify(spanBody()).slice(1)}`;
      await account.post(path, body(objects)).type("json").expect(201);
      const wrong = body(objects.replace("{ }", "{,}"));
      const answer = await account.post(path, wrong).type("json").expect(400);
      expect(answer.body.fields).toEqual({ body: expect.stringMatching(/^Must be JSON: .* character 35000\d\d$/) });
      const { text } = await account.get(`/api/v1/traces/${traceId}`).expect(200);
      expect(text).toContain(`"input":${objects},`);
    });

    it.each(["0", "-0", "false", '""', "[]", "{}", '"\\u0000"', '"\\ud800"', "1e400", "12345678901234567890.10"])(
      "keeps the input %s exactly",
      async (json) => {
        const account = await test.makeAccount("free");
        const traceId = await account.makeTrace();
        const body = JSON.stringify(spanBody()).replace(/}$/, `,"input":${json},"output":{"a":${json}}}`);
        await account.post(`/api/v1/traces/${traceId}/spans`).type("json").send(body).expect(201);
        const answer = await account.get(`/api/v1/traces/${traceId}`).expect(200);
        expect(answer.text).toContain(`"input":${json},`);
        expect(answer.text).toContain(`"output":{"a":${json}},`);
      },
    );

    it("keeps key order, doubled keys and numbers that parsing would alter", async () => {
      const account = await test.makeAccount("free");
      const json = '{"b":1,"a":{"2":0,"1":0},"b":2,"__proto__":{"x":1},"n":0.10}';
      const answer = await account
        .post("/api/v1/traces")
        .type("json")
        .send(`{"agent_id":"a","name":"n","status":"running","started_at":"2026-06-01T00:00:00Z","metadata": ${json} }`)
        .expect(201);
      const read = await account.get(`/api/v1/traces/${answer.body.trace_id}`);
      expect(read.text).toContain(`"metadata":${json},`);
    });

    it("takes spans in any number, reads them in order of receipt, and parents before or after children", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      for (let n = 0; n < 30; n++) {
        const changes = { name: `step ${n}`, parent_span_id: n % 2 ? `later-${n}` : null };
        await account.post(`/api/v1/traces/${traceId}/spans`, spanBody(changes)).expect(201);
      }
      const { spans } = (await account.get(`/api/v1/traces/${traceId}`)).body;
      expect(spans.map((span: { name: string }) => span.name)).toEqual(
        Array.from({ length: 30 }, (_, n) => `step ${n}`),
      );
    });

    it("adds to finished traces too", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace({ status: "success" });
      await account.post(`/api/v1/traces/${traceId}/spans`, spanBody()).expect(201);
    });
  });

  describe("400", () => {
    it("names every missing field", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const answer = await account.post(`/api/v1/traces/${traceId}/spans`, {}).expect(400);
      expect(answer.body.fields).toEqual({ name: "Required", status: "Required", started_at: "Required" });
    });

    it.each([
      [{ status: "success" }, { status: "Must be one of: ok, error" }],
      [{ name: "" }, { name: "Must not be empty" }],
      [{ error: 7 }, { error: "Must be a string, not a number" }],
      [{ error: "\u0000" }, { error: "Must not contain the NUL character (U+0000)" }],
      [{ parent_span_id: {} }, { parent_span_id: "Must be a string, not a JSON object" }],
      [{ started_at: null }, { started_at: "Required" }],
      [{ ended_at: "later" }, { ended_at: expect.stringMatching(/ISO 8601/) }],
    ])("refuses %j and stores nothing", async (changes, fields) => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const answer = await account.post(`/api/v1/traces/${traceId}/spans`, spanBody(changes)).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields });
      expect((await account.get(`/api/v1/traces/${traceId}`)).body.spans).toEqual([]);
    });

    it("comes before 404", async () => {
      const account = await test.makeAccount("free");
      await account.post("/api/v1/traces/unknown/spans", {}).expect(400);
    });
  });

  describe("404", () => {
    it.each(["unknown", "00000000-0000-7000-8000-000000000000"])("answers it for the trace %s", async (id) => {
      const account = await test.makeAccount("free");
      const answer = await account.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(404);
      expect(answer.body).toEqual({ error: "Trace not found" });
    });

    it("answers it for another account's trace, and stores nothing", async () => {
      const [owner, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
      const traceId = await owner.makeTrace();
      await other.post(`/api/v1/traces/${traceId}/spans`, spanBody()).expect(404);
      expect((await owner.get(`/api/v1/traces/${traceId}`)).body.spans).toEqual([]);
    });
  });
});
