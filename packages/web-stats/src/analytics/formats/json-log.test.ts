import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { ofPeople } from "./combined-log.fixture.js";
import { readCaddyLine, readNginxLine } from "./logs.js";

const problem = { problem: expect.any(String) };

const request = {
  remote_ip: "192.0.2.9",
  remote_port: "41342",
  client_ip: "192.0.2.7",
  proto: "HTTP/2.0",
  method: "GET",
  host: "example.com",
  uri: "/a?q=1",
  headers: { "User-Agent": ["A"], Referer: ["https://news.example/x"], Accept: ["*/*"] },
  tls: { resumed: false, version: 772, proto: "h2", server_name: "example.com" },
};
const caddy = (change: object = {}, requestChange: object = {}) =>
  JSON.stringify({
    level: "info",
    ts: 1646861401.5241024,
    logger: "http.log.access",
    msg: "handled request",
    request: { ...request, ...requestChange },
    bytes_read: 0,
    user_id: "",
    duration: 0.0009,
    size: 10900,
    status: 200,
    resp_headers: { Server: ["Caddy"] },
    ...change,
  });
const ofCaddy = (change: object = {}) => ({
  fields: {
    ts: "2022-03-09T21:30:01.524102Z",
    ip: "192.0.2.7",
    referrer: "https://news.example/x",
    user_agent: "A",
    url: "https://example.com/a?q=1",
    ...change,
  },
});

describe("readCaddyLine", () => {
  it.each([
    ["all fields", caddy(), ofCaddy()],
    ["a time as text", caddy({ ts: "2026-03-22T14:50:51.525Z" }), ofCaddy({ ts: "2026-03-22T14:50:51.525Z" })],
    ["milliseconds", caddy({ ts: 1646861401524.1 }), ofCaddy({ ts: "2022-03-09T21:30:01.524100Z" })],
    [
      "nanoseconds",
      caddy({ ts: 1646861401524102400 }),
      ofCaddy({ ts: expect.stringMatching(/^2022-03-09T21:30:01\.52410\dZ$/) }),
    ],
    [
      "a port and no TLS",
      caddy({}, { host: "localhost:8080", tls: undefined }),
      ofCaddy({ url: "http://localhost:8080/a?q=1" }),
    ],
    ["an IPv6 host", caddy({}, { host: "[2001:db8::1]" }), ofCaddy({ url: "https://[2001:db8::1]/a?q=1" })],
    ["no client_ip, as before Caddy 2.7", caddy({}, { client_ip: undefined }), ofCaddy({ ip: "192.0.2.9" })],
    ["no headers", caddy({}, { headers: undefined }), ofCaddy({ referrer: null, user_agent: null })],
    ["a header as text", caddy({}, { headers: { "User-Agent": "A" } }), ofCaddy({ referrer: null })],
    ["a host that makes no URL", caddy({}, { host: "a b" }), ofCaddy({ url: undefined, path: "/a?q=1" })],
    ["another method", caddy({}, { method: "POST" }), { leftOut: "method" }],
    ["an answer that nobody got", caddy({ status: 0 }), { leftOut: "status" }],
    ["an asset", caddy({}, { uri: "/x.woff2" }), { leftOut: "asset" }],
    ["another message", '{"level":"info","ts":1,"logger":"tls","msg":"certificate obtained"}', null],
    ["an error with its request", caddy({ msg: "no upstreams available", logger: "http.log.error" }), null],
    ["an object of another kind", "{}", problem],
    ["no status", caddy({ status: undefined }), problem],
    ["a time beyond all years", caddy({ ts: 1e40 }), problem],
    ["the last second of all years", caddy({ ts: 253_402_300_799e9 }), ofCaddy({ ts: "9999-12-31T23:59:59.000000Z" })],
    ["the second after it", caddy({ ts: 253_402_300_800e9 }), problem],
    ["a request of another kind", caddy({ request: "GET /", msg: undefined }), problem],
    ["a method of another kind", caddy({}, { method: 5 }), problem],
    ["a list", "[]", problem],
    ["half a line", caddy().slice(0, 90), problem],
  ])("reads %s", (_name, line, expected) => {
    expect(ofPeople(readCaddyLine(line))).toEqual(expected);
  });
});

const nginx = (change: object = {}) =>
  JSON.stringify({
    time_iso8601: "2026-05-17T12:05:03+02:00",
    remote_addr: "192.0.2.7",
    request_method: "GET",
    scheme: "https",
    host: "example.com",
    request_uri: "/a?q=1",
    status: "200",
    http_referer: "https://news.example/x",
    http_user_agent: "A",
    ...change,
  });
const ofNginx = (change: object = {}) => ofCaddy({ ts: "2026-05-17T12:05:03+02:00", ...change });

describe("readNginxLine", () => {
  it.each([
    ["all fields", nginx(), ofNginx()],
    ["a status as number", nginx({ status: 304 }), ofNginx()],
    ["empty texts", nginx({ http_referer: "", http_user_agent: "" }), ofNginx({ referrer: null, user_agent: null })],
    ["no host", nginx({ host: undefined }), ofNginx({ url: undefined, path: "/a?q=1" })],
    ["no address", nginx({ remote_addr: "unix:" }), ofNginx({ ip: "unix:" })],
    ["another method", nginx({ request_method: "HEAD" }), { leftOut: "method" }],
    ["no request", nginx({ request_method: "", request_uri: "", status: "400" }), { leftOut: "method" }],
    ["a redirection", nginx({ status: "301" }), { leftOut: "status" }],
    ["no time", nginx({ time_iso8601: undefined }), problem],
    ["a status of another kind", nginx({ status: "ok" }), problem],
    ["another form", "192.0.2.1 - -", problem],
  ])("reads %s", (_name, line, expected) => {
    expect(ofPeople(readNginxLine(line))).toEqual(expected);
  });

  it("reads what the log_format of the README writes", () => {
    const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
    const format = /log_format waymark escape=json ([^;]+);/.exec(readme)?.[1] ?? "";
    const values: Record<string, string> = { ...JSON.parse(nginx()), http_user_agent: 'a \\"b\\"' };
    const line = [...format.matchAll(/'([^']*)'/g)]
      .map(([, text = ""]) => text.replace(/\$(\w+)/g, (_variable, name) => values[name] ?? "missing"))
      .join("");
    expect(ofPeople(readNginxLine(line))).toEqual(ofNginx({ user_agent: 'a "b"' }));
  });
});
