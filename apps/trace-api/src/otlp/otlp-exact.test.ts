import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { loadOtlpMessages } from "@waymark/traces/otlp";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { jsonOf, sendJson, sendProtobuf } from "./otlp.fixture.js";

const { request: requestType } = loadOtlpMessages("traces");
const [traceId, spanId] = ["5".repeat(32), "6".repeat(16)];

const later = (n: number) => ({
  traceId,
  spanId: (n + 1).toString(16).padStart(16, "0"),
  name: "later",
  startTimeUnixNano: "1780308000500000000",
  attributes: [{ key: "text", value: { stringValue: "x".repeat(1_000) } }],
});
/** More than one piece of a text, so that spans are parsed one by one. */
const many = Array.from({ length: 150 }, (_, n) => JSON.stringify(later(n)));

const texts: readonly [string, readonly string[]][] = [
  ["a short text", []],
  ["a long text", many],
];

for (const [name, others] of texts)
  describe(`${name} of OTLP/JSON`, () => {
    /** A request with the text of a value and of a start. */
    const json = (value: string, start = '"1780308000000000000"') => {
      const span = `{"traceId":"${traceId}","spanId":"${spanId}","name":"s","startTimeUnixNano":${start},
      "endTimeUnixNano": "1780308001000000000","attributes":[{"key":"n","value":${value}}]}`;
      const spans = [...others.slice(75), span, ...others.slice(0, 75)];
      return `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join(",")}]}]}]}`;
    };
    const test = useApp();
    const storedText = async (account: TestAccount): Promise<string> => {
      const sql = "SELECT attributes->'attributes'->>'n' AS text FROM span WHERE account_id = $1 AND name = 's'";
      return (await test.pool.query<{ text: string }>(sql, [account.id])).rows[0]?.text ?? "";
    };

    it.each([
      ['{"intValue":9007199254740993}', "9007199254740993"],
      ['{"intValue": -9223372036854775807 }', "-9223372036854775807"],
      ['{"intValue":1.234567890123456789e18}', "1234567890123456789"],
      ['{"intValue":9007199254740992}', "9007199254740992"],
      ['{"intValue":-0}', "0"],
      ['{"doubleValue":-0.0}', "-0.0"],
      ['{"doubleValue":"-0"}', "-0.0"],
      [
        '{"arrayValue":{"values":[{"intValue":9007199254740993},{"stringValue":"\\"intValue\\":9007199254740993"}]}}',
        '[9007199254740993,"\\"intValue\\":9007199254740993"]',
      ],
    ])("keeps the number of %s", async (value, text) => {
      const account = await test.makeAccount("pro");
      await sendJson(account, json(value)).expect(200);
      expect(await storedText(account)).toBe(text);
    });

    it("keeps a start that is a number", async () => {
      const account = await test.makeAccount("pro");
      await sendJson(account, json('{"intValue":1}', "1780308000000001001")).expect(200);
      const { body } = await account.get("/api/v1/traces").expect(200);
      expect(body.traces[0].started_at).toBe("2026-06-01T10:00:00.000001Z");
    });

    it.each([
      ['{"intValue":1,"intValue":2}', "intValue"],
      ['{"intValue":1},"key":"m"', "key"],
      ['{"intValue":1,"int\\u0056alue":2}', "intValue"],
      ['{"intValue":1,"unknown":{"deep":[{"a":1,"a":2}]}}', "a"],
    ])("is refused with a member twice: %s", async (value, key) => {
      const account = await test.makeAccount("pro");
      const answer = await sendJson(account, json(value)).expect(400);
      expect(jsonOf(answer)).toMatchObject({ message: `${key} must not be given twice in one object` });
      expect((await account.get("/api/v1/traces").expect(200)).body.traces).toEqual([]);
    });

    it.each([
      ['{"intValue":1 "a"}', '"a"'],
      ['{"intValue":01}', "1}"],
      ['{"intValue":9007199254740993},"a":}', "}"],
    ])("is refused where it is malformed, with the place: %s", async (value, wrong) => {
      const account = await test.makeAccount("pro");
      const text = json(value);
      const message = `it breaks off or goes wrong at character ${text.indexOf(value) + value.lastIndexOf(wrong)}`;
      expect(jsonOf(await sendJson(account, text).expect(400))).toMatchObject({
        message: expect.stringContaining(message),
      });
      expect((await account.get("/api/v1/traces").expect(200)).body.traces).toEqual([]);
    });

    it("is refused where it is malformed in a span of a refused resource", async () => {
      const account = await test.makeAccount("pro");
      const resource = { attributes: [{ key: "a", value: { stringValue: "x".repeat(65_536) } }] };
      const refused = json('{"intValue":1 2}').replace(
        '{"scopeSpans"',
        `{"resource":${JSON.stringify(resource)},"scopeSpans"`,
      );
      const text = refused.replace(/\]\}$/, `,{"scopeSpans":[{"spans":[${JSON.stringify(later(900))}]}]}]}`);
      await sendJson(account, text).expect(400);
      expect((await account.get("/api/v1/traces").expect(200)).body.traces).toEqual([]);
    });

    it("may have unknown members, and two attributes of one key", async () => {
      const account = await test.makeAccount("pro");
      const value = '{"intValue":1,"later":{"a":{"a":1},"b":["a","a"]}}},{"key":"n","value":{"intValue":2}';
      await sendJson(account, json(value)).expect(200);
      const { rows } = await test.pool.query(
        "SELECT (attributes->'attributes')::text AS text FROM span WHERE account_id = $1 AND name = 's'",
        [account.id],
      );
      expect(rows).toEqual([{ text: '{"n":1,"n":2}' }]);
    });

    it("stores the numbers that protobuf stores", async () => {
      const number = fc.oneof(
        fc
          .bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })
          .map((n) => ({ text: `{"intValue":${n}}`, value: { intValue: String(n) } })),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => {
          const text = Object.is(n, -0) ? "-0.0" : String(n);
          return { text: `{"doubleValue":${text}}`, value: { doubleValue: n } };
        }),
      );
      const property = fc.asyncProperty(fc.array(number, { minLength: 1, maxLength: 8 }), async (numbers) => {
        const [asJson, asProtobuf] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
        await sendJson(asJson, json(`{"arrayValue":{"values":[${numbers.map(({ text }) => text).join(",")}]}}`)).expect(
          200,
        );
        const values = numbers.map(({ value }) => value);
        const span = {
          traceId: Buffer.from(traceId, "hex"),
          spanId: Buffer.from(spanId, "hex"),
          name: "s",
          startTimeUnixNano: "1780308000000000000",
          attributes: [{ key: "n", value: { arrayValue: { values } } }],
        };
        const message = requestType.fromObject({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
        await sendProtobuf(asProtobuf, Buffer.from(requestType.encode(message).finish())).expect(200);
        expect(await storedText(asJson)).toBe(await storedText(asProtobuf));
      });
      await fc.assert(property, randomRuns(8));
    });
  });
