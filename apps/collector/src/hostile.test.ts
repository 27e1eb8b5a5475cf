import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type RunningApp, useDatabase, useProcesses } from "@waymark/testing";
import { firefox, makeSite } from "./app.fixture.js";

const tenMegabytes = 10 * 1_048_576;

describe("hostile beacons", () => {
  const database = useDatabase();
  const startApp = useProcesses();
  let collector: RunningApp;
  let domain: string;
  beforeAll(async () => {
    collector = await startApp("collector", database.url, { COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0" });
    ({ domain } = await makeSite(database.pool));
  });

  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    fetch(`${collector.url}/api/event`, { method: "POST", body, headers: { "User-Agent": firefox, ...headers } });
  const event = (more: object = {}) => JSON.stringify({ n: "x", u: `https://${domain}/`, d: domain, ...more });
  const countEvents = async () => (await database.pool.query("SELECT count(*)::int AS n FROM event")).rows[0].n;
  /** The collector's memory in bytes; 0 on a system without /proc. */
  const memoryOf = async () => {
    const status = await readFile(`/proc/${collector.pid}/status`, "utf8").catch(() => "");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
  };

  /** Sends a body in chunks without its length, until the collector stops reading, and resolves with the status. */
  function pour(bytes: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const sending = httpRequest(`${collector.url}/api/event`, { method: "POST" }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      // The collector may cut a refused body off.
      sending.on("error", (error: NodeJS.ErrnoException) => (error.code === "EPIPE" ? undefined : reject(error)));
      const chunk = Buffer.alloc(65_536, 0x61);
      for (let sent = 0; sent < bytes; sent += chunk.length) sending.write(chunk);
      sending.end();
    });
  }

  describe("413", () => {
    it("refuses bodies over 64 KiB: with their length, in chunks, and packed", async () => {
      const answer = await post("x".repeat(tenMegabytes));
      expect([answer.status, await answer.json()]).toEqual([413, { error: "Body too large", limit_bytes: 65_536 }]);
      expect(await pour(tenMegabytes)).toBe(413);
      expect((await post(gzipSync("x".repeat(tenMegabytes)), { "Content-Encoding": "gzip" })).status).toBe(413);
      const full = event({ r: "x".repeat(65_536 - event({ r: "" }).length) });
      expect(full).toHaveLength(65_536);
      expect((await post(full)).status).toBe(202);
      expect((await post(`${full} `)).status).toBe(413);
    });
  });

  describe("400", () => {
    const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    it.each([
      ["deep properties", () => event().replace("}", `,"p":{"a":${deep(150)}}}`)],
      ["properties deeper than any parser should go", () => event().replace("}", `,"p":${deep(30_000)}}`)],
      ["deep properties as text", () => event({ p: deep(30_000) })],
      ["deep properties in a text that is an object", () => event({ p: `{"a":${deep(30_000)}}` })],
      [
        "a thousand properties",
        () => event({ p: Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [i, i])) }),
      ],
      ["numbers that are none", () => event().replace("}", `,"p":{"a":1e999}}`)],
      ["broken UTF-8", () => Buffer.from(event({ n: "\u00ff" }), "latin1")],
      ["half of a UTF-8 sequence", () => Buffer.from(event({ n: "é" })).subarray(0, 8)],
      ["UTF-16", () => Buffer.from(event(), "utf16le")],
      ["a form", () => `n=pageview&u=https://${domain}/&d=${domain}`],
      ["zeros", () => Buffer.alloc(1_000)],
    ])("refuses %s", async (_title, body) => {
      const answer = await post(body());
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: "Validation failed", fields: expect.any(Object) });
    });

    it("refuses what says that it is packed and is not", async () => {
      expect((await post(event(), { "Content-Encoding": "gzip" })).status).toBe(400);
      expect((await post(event(), { "Content-Encoding": "zip" })).status).toBe(415);
    });

    it.each([
      ["no HTTP", "hello\r\n\r\n", 400],
      ["two lengths", "POST /api/event HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400],
      [
        "a length beside chunks",
        "POST /api/event HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        400,
      ],
      ["NUL in a header", "POST /api/event HTTP/1.1\r\nHost: a\r\nUser-Agent: a\0b\r\n\r\n", 400],
      ["an unknown method", "BREW /api/event HTTP/1.1\r\nHost: a\r\n\r\n", 400],
      ["headers without end", `POST /api/event HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
      ["a path with a broken escape", "POST /api/%ff HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ])("refuses %s", async (_title, bytes, status) => {
      const socket = connect(Number(new URL(collector.url).port), "127.0.0.1");
      let answer = "";
      socket.on("data", (chunk) => (answer += chunk));
      socket.end(bytes);
      await once(socket, "close");
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).toContain('{"error":');
    });
  });

  describe("404 and 405", () => {
    it.each([
      ["PUT", "/api/event", 405],
      ["PROPFIND", "/api/event", 405],
      ["DELETE", "/js/script.js", 405],
      ["POST", "/api/event/../../etc/passwd", 404],
      ["GET", "/js/../package.json", 404],
      ["POST", `/${"x".repeat(8_000)}`, 404],
      ["TRACE", "/", 405],
    ])("answers %s of what is not there or not for it (case %#)", async (method, path, status) => {
      const { port } = new URL(collector.url);
      const answer = await new Promise<number>((resolve, reject) => {
        const asking = httpRequest({ host: "127.0.0.1", port, method, path }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        asking.on("error", reject).end();
      });
      expect(answer).toBe(status);
    });
  });

  describe("202", () => {
    it("believes no header that a client may write itself", async () => {
      const before = await countEvents();
      for (const address of ["8.8.8.8", "'; DROP TABLE event; --", "127.0.0.1, 81.2.69.142", "x".repeat(4_000)]) {
        const headers = { "X-Forwarded-For": address, "X-Real-IP": address, "CF-IPCountry": "FR" };
        expect((await post(event(), headers)).status).toBe(202);
      }
      const { rows } = await database.pool.query("SELECT DISTINCT visitor, country FROM event WHERE name = 'x'");
      expect(rows).toEqual([{ visitor: expect.anything(), country: null }]);
      expect(await countEvents()).toBe(before + 4);
    });
  });

  it("takes no more memory for being sent much, and goes on", async () => {
    const attack = async (rounds: number) => {
      for (let round = 0; round < rounds; round++) {
        const unique = `${round}-${Math.random()}`;
        const statuses = await Promise.all([
          pour(tenMegabytes),
          pour(tenMegabytes),
          post("x".repeat(tenMegabytes)).then(({ status }) => status),
          post(event({ d: `${unique}.example` })).then(({ status }) => status),
          post(event({ r: `https://${unique}.example/${"r".repeat(60_000)}` })).then(({ status }) => status),
          post(event({ n: `${unique} ${"n".repeat(150)}` })).then(({ status }) => status),
          post(event(), { "User-Agent": `${unique} ${"u".repeat(10_000)}` }).then(({ status }) => status),
          post(event({ p: { [unique]: { deep: "p".repeat(60_000) } } })).then(({ status }) => status),
        ]);
        expect(statuses).toEqual([413, 413, 413, 202, 202, 202, 202, 400]);
      }
    };
    // A process takes some memory once, such as for compiled code.
    await attack(20);
    const before = await memoryOf();
    await attack(60);
    const grown = (await memoryOf()) - before;
    expect(grown).toBeLessThan(50 * 1_048_576);
    expect((await post(event())).status).toBe(202);
  });
});
