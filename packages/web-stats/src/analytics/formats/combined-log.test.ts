import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ofPeople, writeCombinedLine } from "./combined-log.fixture.js";
import { readCombinedLine, readCommonLine } from "./logs.js";

const time = "[17/May/2015:10:05:03 +0000]";
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:25.0) Gecko/20100101 Firefox/25.0";
const fields = (change: object = {}) => ({
  fields: { ts: "2015-05-17T10:05:03+0000", ip: "192.0.2.7", path: "/a", referrer: null, user_agent: "A", ...change },
});
const problem = { problem: expect.any(String) };

describe("readCombinedLine", () => {
  it.each([
    [
      "all fields",
      `192.0.2.7 - - ${time} "GET /a?q=1 HTTP/1.1" 200 203023 "https://news.example/x" "${firefox}"`,
      fields({ path: "/a?q=1", referrer: "https://news.example/x", user_agent: firefox }),
    ],
    [
      "no referrer and no browser",
      `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 1 "-" "-"`,
      fields({ user_agent: null }),
    ],
    ["empty texts", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 1 "" ""`, fields({ user_agent: null })],
    ["no bytes", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 304 - "-" "A"`, fields()],
    ["a user with a space", `192.0.2.7 - a user ${time} "GET /a HTTP/1.1" 204 1 "-" "A"`, fields()],
    ["an IPv6 address", `2001:db8::1 - - ${time} "GET /a HTTP/2.0" 200 1 "-" "A"`, fields({ ip: "2001:db8::1" })],
    ["an IPv4 address in IPv6 form", `::ffff:192.0.2.7 - - ${time} "GET /a HTTP/2.0" 200 1 "-" "A"`, fields()],
    ["no address", `- - - ${time} "GET /a HTTP/2.0" 200 1 "-" "A"`, fields({ ip: null })],
    [
      "another zone",
      '192.0.2.7 - - [01/Jan/2016:00:30:00 -0930] "GET /a HTTP/1.1" 200 1 "-" "A"',
      fields({ ts: "2016-01-01T00:30:00-0930" }),
    ],
    ["more fields of a server's own", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 1 "-" "A" "-" 0.003`, fields()],
    [
      "nginx's escapes",
      String.raw`192.0.2.7 - - ${time} "GET /\xC3\xA9\x22 HTTP/1.1" 200 1 "-" "a \x22b\x22 \x5C"`,
      fields({ path: '/é"', user_agent: 'a "b" \\' }),
    ],
    [
      "Apache's escapes",
      String.raw`192.0.2.7 - - ${time} "GET /a\"b HTTP/1.1" 200 1 "-" "\\x41 \"c\"\t\xe9"`,
      fields({ path: '/a"b', user_agent: '\\x41 "c"\t�' }),
    ],
    [
      "other backslashes",
      String.raw`192.0.2.7 - - ${time} "GET /a\o HTTP/1.1" 200 1 "-" "\y"`,
      fields({ path: "/a\\o", user_agent: "\\y" }),
    ],
    ["spaces in a path", `192.0.2.7 - - ${time} "GET /a b HTTP/1.1" 200 1 "-" "A"`, fields({ path: "/a b" })],
    ["a request of HTTP 0.9", `192.0.2.7 - - ${time} "GET /a" 200 1 "-" "A"`, fields()],
    [
      "a whole URL",
      `192.0.2.7 - - ${time} "GET http://example.com/a HTTP/1.1" 200 1 "-" "A"`,
      fields({ path: undefined, url: "http://example.com/a" }),
    ],
    ["another method", `192.0.2.7 - - ${time} "POST /a HTTP/1.1" 200 1 "-" "A"`, { leftOut: "method" }],
    ["no request", `192.0.2.7 - - ${time} "-" 408 0 "-" "-"`, { leftOut: "method" }],
    ["bytes of TLS", String.raw`192.0.2.7 - - ${time} "\x16\x03\x01\x00" 400 0 "-" "-"`, { leftOut: "method" }],
    ["a redirection", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 301 0 "-" "A"`, { leftOut: "status" }],
    ["a missing page", `192.0.2.7 - - ${time} "GET /a.css HTTP/1.1" 404 0 "-" "A"`, { leftOut: "status" }],
    ["an asset", `192.0.2.7 - - ${time} "GET /b/a.CSS?v=3 HTTP/1.1" 200 0 "-" "A"`, { leftOut: "asset" }],
    [
      "a page with an asset in its query",
      `192.0.2.7 - - ${time} "GET /a?f=.css HTTP/1.1" 200 0 "-" "A"`,
      fields({ path: "/a?f=.css" }),
    ],
    [
      "a folder with an asset's name",
      `192.0.2.7 - - ${time} "GET /x.js/a HTTP/1.1" 200 0 "-" "A"`,
      fields({ path: "/x.js/a" }),
    ],
    ["another ending", `192.0.2.7 - - ${time} "GET /a.html HTTP/1.1" 200 0 "-" "A"`, fields({ path: "/a.html" })],
    ["a request without a path", `192.0.2.7 - - ${time} "GET" 200 0 "-" "A"`, problem],
    ["a target without a slash", `192.0.2.7 - - ${time} "GET a HTTP/1.1" 200 0 "-" "A"`, problem],
    ["an unknown month", '192.0.2.7 - - [17/Mai/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 0 "-" "A"', problem],
    ["no time", '192.0.2.7 - - "GET /a HTTP/1.1" 200 0 "-" "A"', problem],
    ["an open quote", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 0 "-" "A`, problem],
    ["a line of the common form", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 0`, problem],
    ["anything", "hello", problem],
  ])("reads %s", (_name, line, expected) => {
    expect(ofPeople(readCombinedLine(line))).toEqual(expected);
  });

  it("reads back every line that a server may write", () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).filter((each) => each.isWellFormed() && each !== "-");
    const request = fc.record({
      ip: fc.oneof(fc.ipV4(), fc.ipV6()),
      at: fc.date({ min: new Date("1970-01-01"), max: new Date("9999-12-30"), noInvalidDate: true }),
      path: text.map((each) => `/${each}`).filter((each) => !/[.\r\n]| HTTP\//.test(each)),
      referrer: fc.option(text),
      userAgent: fc.option(text),
    });
    fc.assert(
      fc.property(request, fc.constantFrom("nginx", "apache"), (each, server) => {
        const at = each.at.toISOString().slice(0, 19);
        const reading = readCombinedLine(writeCombinedLine({ ...each, ts: `${at}Z` }, server));
        const { ip, path, referrer, userAgent } = each;
        expect(ofPeople(reading)).toEqual({ fields: { ts: `${at}+0000`, ip, path, referrer, user_agent: userAgent } });
      }),
    );
  });

  it("takes no long time for a line that is made to take long", () => {
    for (const part of ['"', "\\", '\\"', "[17/May/2015:10:05:03 +0000] ", `${time} "GET / HTTP/1.1" 200 1 "`, " "]) {
      const line = `192.0.2.7 - - ${part.repeat(Math.floor(65_000 / part.length))}`;
      expect(readCombinedLine(line)).toEqual(problem);
    }
  });
});

describe("readCommonLine", () => {
  it.each([
    ["a line", `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 2326`, fields({ user_agent: null })],
    [
      "the start of a combined line",
      `192.0.2.7 - - ${time} "GET /a HTTP/1.1" 200 2326 "http://x/" "A"`,
      fields({ user_agent: null }),
    ],
    ["another method", `192.0.2.7 - - ${time} "HEAD /a HTTP/1.1" 200 -`, { leftOut: "method" }],
    ["a line without a status", `192.0.2.7 - - ${time} "GET /a HTTP/1.1"`, problem],
  ])("reads %s", (_name, line, expected) => {
    expect(ofPeople(readCommonLine(line))).toEqual(expected);
  });
});
