import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { maxErrorInput, normalizeError } from "./normalize-error.js";

describe("normalizeError", () => {
  it.each([
    ["Order 1042 not found", "Order N not found"],
    ["Timeout after 1.5s, 3 of 1,000 done", "Timeout after Ns, N of N done"],
    ["2e10 and 1.5e-3", "N and N"],
    ["HTTP 500 from gpt-4", "HTTP N from gpt-N"],
    ["trace 019c13f2-6c00-7cc3-98c4-dc0c0c07398f is gone", "trace ID is gone"],
    ["commit DEADBEEF, 4f2a9c1e77 and trace_4f2a9c1e77", "commit ID, ID and trace_ID"],
    ["0xdeadbeef at 0x1f", "ID at N"],
    ["abc1234 has seven digits", "abcN has seven digits"],
    ["account 12345678 of 20260601", "account N of N"],
    [`no such tool "get order"`, `no such tool "…"`],
    ["no such tool 'get', `put` or “say”, can't do", `no such tool "…", "…" or "…", can't do`],
    [`say "unfinished 7`, `say "unfinished N`],
    ["connect ECONNREFUSED 10.0.0.12:5432", "connect ECONNREFUSED N.N.N.N:N"],
    ["GET https://api.example.com/v1/users/42?page=3", "GET https://api.example.com/vN/users/N?page=N"],
    ["ENOENT: /var/lib/app/17/log.txt", "ENOENT: /var/lib/app/N/log.txt"],
    ["  ", ""],
    ["Fehler bei Größe 7 — ошибка 8", "Fehler bei Größe N — ошибка N"],
  ])("%s", (error, expected) => expect(normalizeError(error)).toBe(expected));

  it("keeps 300 characters and breaks none of them", () => {
    const text = normalizeError(`x${"😀".repeat(900)}`);
    expect([...text]).toHaveLength(300);
    expect(text.isWellFormed()).toBe(true);
  });

  it("takes a quotation beyond the cut for one", () => {
    const error = (text: string) => `Not JSON: "${text.repeat(maxErrorInput)}"`;
    expect(normalizeError(error("a"))).toBe(normalizeError(error("b")));
  });

  it("gives one text for errors that differ in numbers, ids and quotations", () => {
    const filled = (number: number, id: string, quoted: string) =>
      normalizeError(`step ${number}: ${id} said "${quoted}" at http://10.1.2.${number}/a/${number}`);
    fc.assert(
      fc.property(
        fc.nat(),
        fc.uuid(),
        fc.string().filter((text) => !/["\n]/.test(text)),
        (number, id, quoted) => expect(filled(number, id, quoted)).toBe(filled(1, "deadbeef", "x")),
      ),
    );
  });

  it("takes any text, and time in proportion to its length", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => normalizeError(text).length <= 600));
    for (const piece of ['"', "'", "'a'b ", "`", "1", "1.", "1,111", "f", "0x", "0-", "“", '\\"', "1e"]) {
      expect([...normalizeError(piece.repeat(3_000_000))].length).toBeLessThanOrEqual(300);
    }
  });
});
