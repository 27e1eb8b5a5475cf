import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { maxErrorInput, normalizeError } from "./normalize-error.js";

describe("normalizeError", () => {
  it.each([
    ["Order 1042 not found", "Order N not found"],
    ["Timeout after 1.5s, 3 of 1,000 done", "Timeout after Ns, N of N done"],
    ["2e10 and 1.5e-3", "N and N"],
    ["HTTP 500 from gpt-4", "HTTP 500 from gpt-N"],
    ["trace 019c13f2-6c00-7cc3-98c4-dc0c0c07398f is gone", "trace ID is gone"],
    ["commit DEADBEEF, 4f2a9c1e77 and trace_4f2a9c1e77", "commit ID, ID and trace_ID"],
    ["0xdeadbeef at 0x1f", "ID at ID"],
    ["call_a8Kd92Lm failed in req_011CSHoEeqs5C35K2UUqR7Fy", "call_ID failed in req_ID"],
    ["abc1234 has seven digits", "abcN has seven digits"],
    ["account 12345678 of 20260601", "account N of N"],
    [`no such tool "get order"`, `no such tool "…"`],
    ["no such tool 'get', `put` or “say”, can't do", `no such tool "…", "…" or "…", can't do`],
    [`say "unfinished 7`, `say "unfinished N`],
    ["connect ECONNREFUSED 10.0.0.12:5432", "connect ECONNREFUSED N.N.N.N:N"],
    ["GET https://api.example.com/v1/users/42?page=3: refused", "GET URL refused"],
    ["Read (see https://example.com/a).", "Read (see URL"],
    ["Client error '404 Not Found' for url 'https://a.example/1'", `Client error '404 Not Found' for url "…"`],
    [`{"type":"overloaded_error","message":"Busy"}`, `{"type":"overloaded_error","…":"…"}`],
    ["code: 'ENOENT', path: '/tmp/1'", `code: 'ENOENT', path: "…"`],
    ["MCP error -32602 in call 17", "MCP error -32602 in call N"],
    ["duplicate key (SQLSTATE 23505) in row 23505", "duplicate key (SQLSTATE 23505) in row N"],
    ["OAuth2Error in step2", "OAuth2Error in stepN"],
    ["Order 404 not found, 503 of 504 done", "Order N not found, N of N done"],
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

  const groups = (texts: readonly string[]) => new Set(texts.map(normalizeError)).size;
  const quoted = fc.string().filter((text) => !/["\n]/.test(text) && !/^\d|(?:error|exception)$/i.test(text));
  const hex = fc
    .string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 10, maxLength: 40 })
    .filter((text) => /[0-9]/.test(text) && /[a-f]/.test(text));
  const particulars = fc.record({
    number: fc.nat(),
    decimal: fc.double({ min: 0, max: 1e6, noNaN: true, noDefaultInfinity: true }).map((value) => value.toFixed(2)),
    uuid: fc.uuid(),
    hex,
    pointer: fc.nat().map((value) => `0x${value.toString(16)}`),
    quoted,
    url: fc.webUrl({ withQueryParameters: true }).filter((url) => !/['"`]/.test(url)),
  });

  it.each<[string, (of: Record<string, string | number>) => string]>([
    ["an error", (of) => `Step ${of["number"]} of ${of["uuid"]} said "${of["quoted"]}" after ${of["decimal"]} s`],
    ["an error with addresses", (of) => `Fetching ${of["url"]} for ${of["hex"]} failed at ${of["pointer"]}`],
    ["a span's name", (of) => `tool: fetch_order #${of["number"]} (${of["uuid"]}, ${of["hex"]})`],
    ["a name with an address", (of) => `GET ${of["url"]} as user_${of["number"]} "${of["quoted"]}"`],
  ])("gives one text for %s with other numbers, ids, quotations and addresses", (_title, fill) => {
    fc.assert(fc.property(particulars, particulars, (one, other) => expect(groups([fill(one), fill(other)])).toBe(1)));
  });

  const statuses = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504];

  it.each<[string, (code: number, n: number) => string]>([
    ["HTTP and the code", (code, n) => `HTTP ${code} from host-${n}`],
    ["axios", (code, n) => `Request ${n} failed with status code ${code}`],
    ["OpenAI", (code, n) => `Error code: ${code} - {'error': {'message': 'Take ${n}', 'param': None}}`],
    ["httpx", (code, n) => `Client error '${code} Bad Request' for url 'https://api.example.com/${n}'`],
    ["requests", (code, n) => `${code} Client Error: Not Found for url: https://api.example.com/${n}`],
    ["a status line", (code, n) => `HTTP/1.1 ${code} Service Unavailable after ${n} ms`],
    ["JSON", (code, n) => `{"statusCode":${code},"request":${n}}`],
    ["words", (code, n) => `attempt ${n}: upstream returned ${code}`],
    ["brackets", (code, n) => `attempt ${n}: refused (${code})`],
  ])("keeps statuses of HTTP apart in %s, whatever the numbers are", (_title, fill) => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 5 }), (numbers) => {
        const texts = statuses.flatMap((code) => numbers.map((n) => fill(code, n)));
        expect(groups(texts)).toBe(statuses.length);
      }),
    );
  });

  it("keeps classes of errors and codes of exits apart", () => {
    const classes = ["ValueError", "KeyError", "OAuth1Error", "OAuth2Error", "TimeoutException", "S3Error", "EC2Error"];
    const exits = [0, 1, 2, 126, 127, 130, 137, 139, 143, 255];
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (one, other) => {
        for (const fill of [(name: string, n: number) => `${name}: row ${n}`, (name: string) => `raised '${name}'`]) {
          expect(groups(classes.flatMap((name) => [fill(name, one), fill(name, other)]))).toBe(classes.length);
        }
        const words = ["exit code", "exit status", "exited with", "exit_code ="];
        for (const word of words) {
          const texts = exits.flatMap((code) => [one, other].map((n) => `Process ${n} ${word} ${code}`));
          expect(groups(texts)).toBe(exits.length);
        }
      }),
    );
  });

  it("takes any text, and time in proportion to its length", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => normalizeError(text).length <= 600));
    const words = ["status code with of ", "exit ", "http/1.1 ", "code: 'a", "a://", "error: ", "A1"];
    for (const piece of ['"', "'", "'a'b ", "`", "1", "1.", "1,111", "f", "0x", "0-", "“", '\\"', "1e", ...words]) {
      expect([...normalizeError(piece.repeat(3_000_000))].length).toBeLessThanOrEqual(300);
    }
  });
});
