import { Buffer } from "node:buffer";
import { expect, it } from "@jest/globals";
import { BatchEncoder, createAttribution } from "./batch-encoder.js";
import { idLength } from "./encoded-batch.js";
import { type ImportLine, readImportLine } from "./import-line.schema.js";
import { lineId } from "./line-id.js";
import { OccurrenceCounter } from "./occurrences.js";

function readAt(minute: number) {
  const result = readImportLine({ ts: `2026-05-01T12:0${minute}:00Z`, path: "/" });
  if (!result.ok) throw new Error(result.problem);
  return result.line;
}

it("gives a line that came before, beyond the memory, the id of its occurrence, also in the row for COPY", async () => {
  const [again, between, other] = [readAt(0), readAt(1), readAt(2)];
  const seen = new Map<string, number>();
  const occurrences = new OccurrenceCounter(
    {
      read: async () => seen,
      add: async (ids) => {
        for (const id of ids.slice(1, -1).split(",")) seen.set(id.replaceAll('"', ""), 1);
      },
    },
    { most: 1, kept: 1 },
  );
  const encode = async (lines: readonly ImportLine[]) => {
    const batch = new BatchEncoder({
      siteId: "00000000-0000-4000-8000-000000000000",
      maxLines: 10,
      horizon: null,
      salts: new Map(),
      occurrences,
      attribute: createAttribution({ domain: "example.com", countryOf: () => null }),
      settle: async () => [],
    });
    lines.forEach((line, number) => {
      batch.add(number, line);
    });
    const { ids, rows, rowEnds } = await batch.finish();
    return lines.map((_, place) => ({
      id: Buffer.from(ids.subarray(place * idLength, (place + 1) * idLength)).toString(),
      row: Buffer.from(rows.subarray(rowEnds[place - 1] ?? 0, rowEnds[place])).toString("hex"),
    }));
  };
  await encode([again, between]);
  const encoded = await encode([other, again]);
  const expected = [lineId(other).first, lineId(again).nth(2)];
  expect(encoded.map(({ id }) => id)).toEqual(expected);
  for (const [place, { row }] of encoded.entries()) expect(row).toContain(expected[place]?.replaceAll("-", ""));
});
