import { describe, expect, it } from "@jest/globals";
import { guessFormat } from "./open-format.js";

const common = '192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 1';
const combined = `${common} "-" "A"`;
const nginx =
  '{"time_iso8601":"2026-05-17T12:05:03+02:00","remote_addr":"192.0.2.7","request_method":"GET","request_uri":"/","status":"200"}';
const caddy =
  '{"ts":1,"logger":"http.log.access","msg":"handled request","request":{"method":"GET","uri":"/"},"status":200}';
const cloudfront = "2026-05-17\t10:05:03\tIAD\t1\t192.0.2.7\tGET\thost\t/a\t200\t-\t-\t-";

describe("guessFormat", () => {
  it.each([
    ["combined", [combined]],
    ["combined", ["# a comment", combined, combined, common]],
    ["combined", ['192.0.2.7 - - [17/May/2015:10:05:03 +0000] "POST /a HTTP/1.1" 404 1 "-" "A"']],
    ["common", [common, common]],
    ["caddy-json", [caddy]],
    ["caddy-json", [caddy.replace('"ts":1', '"ts":"2026-05-17T12:05:03Z"')]],
    ["caddy-json", ['{"level":"info","ts":1,"logger":"tls","msg":"started"}', caddy]],
    ["nginx-json", [nginx]],
    ["cloudfront", ["#Version: 1.0", "#Fields: date time", cloudfront]],
    ["cloudfront", [cloudfront]],
    ["ndjson", ['{"ts":"2026-05-01T12:00:00Z","path":"/","visitor":"1"}']],
    ["ndjson", ["{}", "[]", "{broken"]],
    ["ndjson", ["hello", "you"]],
    ["ndjson", []],
  ])("takes for %s: %j", (format, lines) => {
    expect(guessFormat(lines)).toBe(format);
  });
});
