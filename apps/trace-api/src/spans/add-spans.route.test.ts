import { describe, expect, it, jest } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

interface ReadSpan {
  id: string;
  name: string;
  parent_span_id: string | null;
}

describe("POST /api/v1/traces/:trace_id/spans/batch", () => {
  const test = useApp();
  const pathOf = (traceId: string) => `/api/v1/traces/${traceId}/spans/batch`;
  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  const readSpans = async (account: TestAccount, traceId: string): Promise<ReadSpan[]> => {
    const { text } = await account.get(`/api/v1/traces/${traceId}`).expect(200);
    return JSON.parse(text).spans;
  };

  describe("201", () => {
    it("answers the ids in order and nothing else, and reads back every field", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const spans = [
        {
          name: "call",
          status: "error",
          started_at: "2026-06-01T12:00:01.000001Z",
          ended_at: "2026-06-01T12:00:02.000Z",
          input: { messages: [{ role: "user", content: "hello" }] },
          output: "text",
          error: "it broke\nbadly",
          parent_span_id: "not-a-uuid",
        },
        spanBody({ ended_at: null, input: null, output: [1], error: null, parent_span_id: null }),
      ];
      const answer = await account.post(pathOf(traceId), { spans }).expect(201);
      expect(answer.body).toEqual({ span_ids: [expect.any(String), expect.any(String)] });
      expect(await readSpans(account, traceId)).toEqual(
        spans.map((span, n) => ({ ...span, id: answer.body.span_ids[n] })),
      );
    });

    it("resolves references to spans before and after, and stores no reference", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const spans = [
        spanBody({ name: "grandchild", parent_ref: "child" }),
        spanBody({ name: "child", ref: "child", parent_ref: "root" }),
        spanBody({ name: "root", ref: "root", parent_ref: null, parent_span_id: "outside" }),
        spanBody({ name: "second child", ref: null, parent_ref: "root" }),
      ];
      const { body } = await account.post(pathOf(traceId), { spans }).expect(201);
      const [, child, root] = body.span_ids;
      const read = await readSpans(account, traceId);
      expect(read.map(({ name, parent_span_id }) => [name, parent_span_id])).toEqual([
        ["grandchild", child],
        ["child", root],
        ["root", "outside"],
        ["second child", root],
      ]);
      expect(Object.keys(read[0] ?? {})).not.toContain("ref");
    });

    it("keeps opaque JSON exactly, whatever surrounds it", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const values = [
        "0",
        "-0",
        '"\\u0000"',
        '"\\ud800"',
        "1e400",
        "12345678901234567890.10",
        '{"b":1,"a":[{}],"b":2}',
        '"],}"',
      ];
      const rest = JSON.stringify(spanBody()).slice(1, -1);
      const spans = values.map((json) => `\n{ "input" : ${json} ,${rest}, "outp\\u0075t":\t{"a":${json}}\n}`);
      await account
        .post(pathOf(traceId))
        .type("json")
        .send(`{"span":[1],"spans": [${spans.join(" ,")} ]}`)
        .expect(201);
      const { text } = await account.get(`/api/v1/traces/${traceId}`);
      for (const json of values) expect(text).toContain(`"input":${json},"output":{"a":${json}},`);
    });

    it("reads any batch back as it was sent", async () => {
      const account = await test.makeAccount("pro");
      const span = fc.record(
        { input: fc.json(), output: fc.json(), name: fc.string({ minLength: 1, unit: "grapheme" }) },
        { requiredKeys: ["name"] },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(span, { minLength: 1, maxLength: 20 }), async (batch) => {
          fc.pre(batch.every(({ name }) => !name.includes("\u0000")));
          const traceId = await account.makeTrace();
          const bodies = batch.map(({ name, ...json }) => {
            const opaque = Object.entries(json).map(([key, text]) => `,"${key}":${text}`);
            return `${JSON.stringify(spanBody({ name })).slice(0, -1)}${opaque.join("")}}`;
          });
          await account
            .post(pathOf(traceId))
            .type("json")
            .send(`{"spans":[${bodies.join(",")}]}`)
            .expect(201);
          const { text } = await account.get(`/api/v1/traces/${traceId}`);
          batch.forEach(({ name, input, output }) => {
            expect(text).toContain(`"name":${JSON.stringify(name)},"status"`);
            expect(text).toContain(`"input":${input?.trim() ?? "null"},"output":${output?.trim() ?? "null"},`);
          });
          expect(JSON.parse(text).spans).toHaveLength(batch.length);
        }),
        randomRuns(15),
      );
    });

    it("takes 1,000 spans, in a chain, and reads them in the batch's order", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const spans = times(1_000, (n) =>
        spanBody({ name: `${n}`, ref: `r${n}`, ...(n > 0 && { parent_ref: `r${n - 1}` }) }),
      );
      const { body } = await account.post(pathOf(traceId), { spans }).expect(201);
      const read = await readSpans(account, traceId);
      expect(read.map(({ id }) => id)).toEqual(body.span_ids);
      expect(read.map(({ parent_span_id }) => parent_span_id)).toEqual([null, ...body.span_ids.slice(0, -1)]);
    });

    it("takes references of 1 and of 255 characters", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const spans = ["~", "é".repeat(255)].flatMap((ref) => [spanBody({ ref }), spanBody({ parent_ref: ref })]);
      const { body } = await account.post(pathOf(traceId), { spans }).expect(201);
      const parents = (await readSpans(account, traceId)).map(({ parent_span_id }) => parent_span_id);
      expect(parents).toEqual([null, body.span_ids[0], null, body.span_ids[2]]);
    });

    it("stores batches and single spans that come together, each whole", async () => {
      const account = await test.makeAccount("pro");
      const [one, two] = [await account.makeTrace(), await account.makeTrace()];
      const batch = (name: string) => ({ spans: times(120, (n) => spanBody({ name: `${name} ${n}` })) });
      const answers = await Promise.all(
        times(40, (n) => {
          const traceId = n % 2 ? one : two;
          return n % 4 < 2
            ? account.post(pathOf(traceId), batch(`batch ${n}`))
            : account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ name: `single ${n}` }));
        }),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      for (const [parity, traceId] of [two, one].entries()) {
        const own = answers.filter((_, n) => n % 2 === parity);
        const ids = own.flatMap(({ body }) => body.span_ids ?? [body.span_id]);
        expect((await readSpans(account, traceId)).map(({ id }) => id).sort()).toEqual(ids.sort());
      }
    });
  });

  describe("400", () => {
    const span = spanBody();
    it.each([
      ["repeated", `{"spans":[],"spans":[${"{},".repeat(1_300_000)}{}]}`, "Must be given once"],
      ["repeated, written with escapes", `{"spans":[],"sp\\u0061ns":[${"0,".repeat(100_000)}0]}`, "Must be given once"],
      ["too long", `{"spans":[${"{},".repeat(1_300_000)}{}]}`, "Must be at most 1000 elements"],
    ])("refuses a list that is %s before it parses the body", async (_case, text, problem) => {
      const account = await test.makeAccount("free");
      const path = pathOf(await account.makeTrace());
      const parse = jest.spyOn(JSON, "parse");
      const { body } = await account.post(path).type("json").send(text).expect(400);
      const longest = Math.max(...parse.mock.calls.map(([given]) => String(given).length));
      parse.mockRestore();
      expect(body).toEqual({ error: "Validation failed", fields: { spans: problem } });
      expect(longest).toBeLessThan(10_000);
    });

    it.each([
      [{}, { spans: "Required" }],
      [{ spans: null }, { spans: "Required" }],
      [{ spans: {} }, { spans: "Must be an array, not a JSON object" }],
      [{ spans: [] }, { spans: "Must not be an empty list" }],
      [{ spans: times(1_001, () => span) }, { spans: "Must be at most 1000 elements" }],
      [{ spans: times(100_000, () => 0) }, { spans: "Must be at most 1000 elements" }],
      [{ spans: [span, 7] }, { "spans.1": "Must be a JSON object, not a number" }],
      [
        { spans: [span, {}] },
        { "spans.1.name": "Required", "spans.1.status": "Required", "spans.1.started_at": "Required" },
      ],
      [
        { spans: [{ ...span, status: "success" }, span, { ...span, ended_at: "later" }] },
        { "spans.0.status": "Must be one of: ok, error", "spans.2.ended_at": expect.stringMatching(/ISO 8601/) },
      ],
      [{ spans: [{ ...span, ref: "" }] }, { "spans.0.ref": "Must not be empty" }],
      [{ spans: [{ ...span, ref: "a".repeat(256) }] }, { "spans.0.ref": "Must be at most 255 characters" }],
      [{ spans: [{ ...span, ref: 1 }] }, { "spans.0.ref": "Must be a string, not a number" }],
      [
        { spans: [{ ...span, ref: "a" }, span, { ...span, ref: "a" }] },
        { "spans.2.ref": "Must be unique in the batch" },
      ],
      [{ spans: [{ ...span, parent_ref: "a" }] }, { "spans.0.parent_ref": "Must be the ref of a span of this batch" }],
      [{ spans: [{ ...span, ref: "a", parent_ref: "a" }] }, { "spans.0.parent_ref": "Must not be the span's own ref" }],
      [
        {
          spans: [
            { ...span, ref: "a" },
            { ...span, parent_ref: "a", parent_span_id: "x" },
          ],
        },
        { "spans.1.parent_ref": "Must not be given with parent_span_id" },
      ],
      [
        {
          spans: [
            { ...span, parent_ref: "c" },
            { ...span, ref: "a", parent_ref: "c" },
            { ...span, ref: "b", parent_ref: "a" },
            { ...span, ref: "c", parent_ref: "b" },
          ],
        },
        Object.fromEntries([1, 2, 3].map((n) => [`spans.${n}.parent_ref`, "Must not lead back to the span itself"])),
      ],
    ])("refuses %.80j and stores nothing", async (body, fields) => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const answer = await account.post(pathOf(traceId), body).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields });
      expect(await readSpans(account, traceId)).toEqual([]);
    });

    it("holds the depth of 200 for the body as a whole", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const body = (depth: number) =>
        `{"spans":[${JSON.stringify(spanBody()).slice(0, -1)},"input":${"[".repeat(depth)}${"]".repeat(depth)}}]}`;
      await account.post(pathOf(traceId)).type("json").send(body(197)).expect(201);
      await account.post(pathOf(traceId)).type("json").send(body(198)).expect(400);
    });

    it("comes before 404", async () => {
      const account = await test.makeAccount("free");
      await account.post(pathOf("unknown"), {}).expect(400);
    });
  });

  describe("404", () => {
    it.each(["unknown", "00000000-0000-7000-8000-000000000000"])("answers it for the trace %s", async (id) => {
      const account = await test.makeAccount("free");
      const answer = await account.post(pathOf(id), { spans: [spanBody()] }).expect(404);
      expect(answer.body).toEqual({ error: "Trace not found" });
    });

    it("answers it for another account's trace, and stores nothing", async () => {
      const [owner, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
      const traceId = await owner.makeTrace();
      await other.post(pathOf(traceId), { spans: [spanBody()] }).expect(404);
      expect(await readSpans(owner, traceId)).toEqual([]);
    });
  });

  describe("413", () => {
    it("is answered over 4 MiB, and not at it", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const body = (bytes: number) => {
        const empty = `{"spans":[${JSON.stringify(spanBody({ output: "" }))}]}`;
        return empty.replace('"output":""', `"output":"${"x".repeat(bytes - empty.length)}"`);
      };
      await account
        .post(pathOf(traceId))
        .type("json")
        .send(body(4 * 1_048_576))
        .expect(201);
      await account
        .post(pathOf(traceId))
        .type("json")
        .send(body(4 * 1_048_576 + 1))
        .expect(413);
    });
  });

  it("stores nothing of a batch of which the database refuses one span, and everything of its neighbours", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    await test.pool.query("ALTER TABLE span ADD CONSTRAINT no_poison CHECK (name <> 'poison')");
    const batches = times(8, (n) => ({
      spans: times(50, (m) => spanBody({ name: n === 3 && m === 20 ? "poison" : `${n}` })),
    }));
    const answers = await Promise.all(batches.map((body) => account.post(pathOf(traceId), body)));
    await test.pool.query("ALTER TABLE span DROP CONSTRAINT no_poison");
    expect(answers.map(({ status }) => status)).toEqual(times(8, (n) => (n === 3 ? 500 : 201)));
    const names = (await readSpans(account, traceId)).map(({ name }) => name);
    expect(names.sort()).toEqual(times(8, (n) => (n === 3 ? [] : times(50, () => `${n}`))).flat());
  });
});
