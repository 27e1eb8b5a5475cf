import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import fc from "fast-check";
import { toArray } from "./record-events.query.js";

const database = useDatabase();

describe("an array as text", () => {
  it("is read by Postgres as the same texts and nulls", async () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }).map((value) => value.replaceAll("\0", "")),
      fc.constantFrom("", "NULL", "null", '"', "\\", "{", "}", ",", " ", '\\"', "a\nb"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text), { minLength: 1 }), async (values) => {
        const { rows } = await database.pool.query("SELECT $1::text[] AS read", [toArray(values)]);
        expect(rows[0].read).toEqual(values.every((value) => value === null) ? [] : values);
      }),
    );
  });

  it("has its numbers, and is empty for a list of nulls and an empty list", () => {
    expect(toArray([1, null, -2])).toBe("{1,NULL,-2}");
    expect([toArray([null, null]), toArray([])]).toEqual(["{}", "{}"]);
  });
});
