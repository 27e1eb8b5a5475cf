import { afterAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import fc from "fast-check";
import { binaryArray } from "./binary-array.js";
import { createPool } from "./pool.js";

describe("arrays in binary form", () => {
  const database = useDatabase();
  const pool = createPool({
    connectionString: database.url,
    maxConnections: 2,
    applicationName: "test",
    statementTimeoutMs: 0,
  });
  afterAll(() => pool.end());

  it("reach Postgres as they are: texts of any characters, bytes, nulls, and none at all", async () => {
    const element = fc.option(fc.string({ unit: "binary" }).map((text) => text.replaceAll("\u0000", "")));
    await fc.assert(
      fc.asyncProperty(fc.array(element), async (texts) => {
        const mixed = texts.map((text, n) => (text !== null && n % 2 ? Buffer.from(text) : text));
        const { rows } = await pool.query("SELECT $1::text[] AS back", [binaryArray("text", mixed)]);
        expect(rows[0].back).toEqual(texts.map((text) => text?.toWellFormed() ?? null));
      }),
    );
  });

  it("keep JSON as its text", async () => {
    const json = ['{"b": 1,"a":"\\u0000"}', null, "[]"];
    const { rows } = await pool.query("SELECT json::text FROM unnest($1::json[]) AS j (json)", [
      binaryArray("json", json),
    ]);
    expect(rows.map((row) => row.json)).toEqual(json);
  });
});
