import { describe, expect, it } from "@jest/globals";
import { withConnection } from "@waymark/database";
import { randomRuns, useDatabase } from "@waymark/testing";
import fc from "fast-check";
import { type EarlierLines, OccurrenceCounter, withEarlierLines } from "./occurrences.js";

const database = useDatabase();

const idOf = (n: number) => `00000000-0000-8000-8000-${String(n).padStart(12, "0")}`;

describe("the counter of occurrences", () => {
  it("counts each line in any order, of which most are in the table", async () => {
    const batches = fc.array(fc.array(fc.integer({ min: 0, max: 30 }).map(idOf), { maxLength: 20 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        const seen = new Map<string, number>();
        const counted: number[] = [];
        const expected: number[] = [];
        const count = async (earlier: EarlierLines) => {
          const counter = new OccurrenceCounter(earlier, { most: 8, kept: 3 });
          for (const batch of given) {
            const own = batch.map((id) => ({ id, n: counter.count(id), isUnsure: counter.mayBeEarlier(id) }));
            const inTable = await counter.readEarlier(own.filter(({ isUnsure }) => isUnsure).map(({ id }) => id));
            await counter.tidy();
            counted.push(...own.map(({ id, n }) => n + (inTable.get(id) ?? 0)));
            for (const id of batch) {
              seen.set(id, (seen.get(id) ?? 0) + 1);
              expected.push(seen.get(id) ?? 0);
            }
          }
        };
        await withConnection(database.directPool, (client) => withEarlierLines(client, count));
        expect(counted).toEqual(expected);
      }),
      randomRuns(30),
    );
  });
});
