import { describe, expect, it } from "@jest/globals";
import { pino } from "pino";
import { createAccessLog } from "./request-context.js";

/** A logger as `createLogger` makes them, and its lines. */
function open(level: string) {
  const lines: string[] = [];
  const log = pino(
    {
      level,
      base: { service: 'quoted "name"', process: 2 },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ["*.authorization"] },
    },
    { write: (line: string) => void lines.push(line) },
  );
  return { lines, log: log.child({ account: 7 }) };
}

describe("the access log", () => {
  it.each(["/a/b", '/"quoted"/\\/\n\u2028\ud800', "/ä/€"])("writes the line that pino writes, of %j", (path) => {
    const { lines, log } = open("info");
    const entry = { requestId: "a.b:c-1", method: "GET", path, status: 200, ms: 1.23 };
    createAccessLog(log)({ ...entry, ms: 1.2345 });
    log.info(entry, "request");
    const [own, pinos] = lines.map((line) => line.replace(/"time":"[^"]+"/, '"time":""'));
    expect(own).toBe(pinos);
    expect(JSON.parse(lines[0] ?? "").time).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
  });

  it("ends with the ids of the account and, where one was used, of the key", () => {
    const { lines, log } = open("info");
    const entry = { requestId: "a", method: "GET", path: "/", status: 200, ms: 1 };
    createAccessLog(log)({ ...entry, caller: { accountId: "an-account" } });
    createAccessLog(log)({ ...entry, caller: { accountId: "an-account", keyId: "a-key" } });
    const [session, key] = lines.map((line) => JSON.parse(line));
    expect(session).toMatchObject({ accountId: "an-account", msg: "request" });
    expect(session).not.toHaveProperty("keyId");
    expect(key).toMatchObject({ accountId: "an-account", keyId: "a-key", msg: "request" });
  });

  it("writes nothing below its level", () => {
    const { lines, log } = open("warn");
    createAccessLog(log)({ requestId: "a", method: "GET", path: "/", status: 200, ms: 1 });
    expect(lines).toEqual([]);
  });
});
