import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { randomRuns, useDatabase } from "@waymark/testing";
import fc from "fast-check";
import pg from "pg";
import { type CopiedType, type CopiedValue, copyRows } from "./copy-rows.js";

let client: pg.Client;
// Before the one that drops the database.
afterAll(() => client.end());
const database = useDatabase();
beforeAll(async () => {
  client = new pg.Client({ connectionString: database.directUrl, options: "-c TimeZone=UTC" });
  await client.connect();
});

const bigint = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const day = fc.date({ min: new Date("1970-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });
const text = fc.string({ unit: "grapheme", maxLength: 40 }).filter((each) => !each.includes("\0"));

const values: Readonly<Record<CopiedType, fc.Arbitrary<CopiedValue>>> = {
  uuid: fc.uuid(),
  date: day.map((each) => each.toISOString().slice(0, 10)),
  timestamptz: fc
    .tuple(day, fc.integer({ min: 0, max: 999 }))
    .map(([each, us]) => each.toISOString().replace("Z", `${String(us).padStart(3, "0")}Z`)),
  bigint,
  int: fc.integer(),
  smallint: fc.integer({ min: -32_768, max: 32_767 }),
  boolean: fc.boolean(),
  text,
  json: text.map((each) => JSON.stringify({ each })),
  "bigint[]": fc.array(bigint, { maxLength: 5 }).map((list) => `{${list.join(",")}}`),
};
const types = Object.keys(values) as CopiedType[];
type Row = [position: number, values: CopiedValue[]];
const position = { name: "position", type: "int", read: ([at]: Row) => at } as const;
const columns = types.map((type, index) => ({
  name: `c${index}`,
  type,
  read: ([, row]: Row) => row[index] ?? null,
}));
const shown = columns.map(({ name, type }) =>
  type === "timestamptz" ? `to_char(${name}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')` : `${name}::text`,
);

describe("copyRows", () => {
  it("stores any values, in one chunk or several", async () => {
    await client.query(
      `CREATE TEMP TABLE copied (position int, ${columns.map(({ name, type }) => `${name} ${type}`).join(", ")})`,
    );
    const rows = fc.array(fc.tuple(...types.map((type) => fc.option(values[type]))), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(rows, fc.constantFrom(1, 1, 1, 100), async (some, times) => {
        const given = Array.from({ length: times }, () => some).flat();
        await client.query("TRUNCATE copied");
        await copyRows(client, { table: "copied", columns: [position, ...columns] }, given.entries());
        const { rows: stored } = await client.query({
          text: `SELECT ${shown.join(", ")} FROM copied ORDER BY position`,
          rowMode: "array",
        });
        expect(stored).toEqual(given.map((row) => row.map((value) => (value === null ? null : String(value)))));
      }),
      randomRuns(20),
    );
  });

  it("leaves the connection usable when a row is refused, here or there", async () => {
    await client.query("CREATE TEMP TABLE refused (id int PRIMARY KEY)");
    const column = { name: "id", type: "int", read: (id: number) => id } as const;
    const copy = (rows: Iterable<number>) => copyRows(client, { table: "refused", columns: [column] }, rows);
    await expect(copy([1, 1])).rejects.toThrow("duplicate key");
    function* failing() {
      yield 1;
      throw new Error("no more rows");
    }
    await expect(copy(failing())).rejects.toThrow("no more rows");
    await copy([1, 2]);
    expect((await client.query("SELECT count(*)::int AS n FROM refused")).rows).toEqual([{ n: 2 }]);
  });
});
