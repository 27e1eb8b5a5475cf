import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { readImportLine } from "../import/import-line.schema.js";
import { exportNames, formatNames, type Reading } from "./format.js";
import { isCsv, isLog, openFormat } from "./open-format.js";

const names = [...formatNames, ...exportNames];

/** Pieces of good lines, so that broken ones reach every part of a reader. */
const pieces = [
  '192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 1 "-" "A"',
  '{"ts":1,"msg":"handled request","request":{"method":"GET","uri":"/","headers":{"Referer":[null]}},"status":200}',
  '{"time_iso8601":"2026-05-17T12:05:03+02:00","request_method":"GET","host":"[","request_uri":"/","status":"200"}',
  "2026-05-17\t10:05:03\tIAD\t1\t192.0.2.7\tGET\t%\t/%25zz\t200\t%E9\t%25E9\t%",
  "#Fields: date time",
  "session_id,url_path,event_type,created_at,hostname,utm_source",
  "s,/%,1,2026-05-17 10:05:03,::,%",
  "2Path,Event,Session,Bot,Date,Referrer,Referrer scheme",
  "/%?,false,,0,2026-05-17T10:05:03Z,%,c",
  "\\x",
  "\\xE9",
  '"',
  "1e999",
  "\u0000",
];

describe("openFormat", () => {
  it("keeps an amount of revenue as it is written", () => {
    const line =
      '{"ts":"2026-05-01T12:00:00Z","type":"event","name":"buy","revenue":{"amount":123456789012345678.10,"currency":"EUR"}}';
    const reading = openFormat("ndjson")(line);
    const result = reading && "fields" in reading ? readImportLine(reading.fields) : undefined;
    expect(result).toMatchObject({ line: { revenue: { amount: "123456789012345678.1", currency: "EUR" } } });
  });

  it.each(names)("makes a reader of %s that any text leaves whole", (name) => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...pieces));
    const line = fc.array(text, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), line), { maxLength: 8 }), (lines) => {
        const read = openFormat(name);
        for (const each of lines) {
          const reading: Reading = read(each);
          if (reading && "fields" in reading) readImportLine(reading.fields);
        }
      }),
      randomRuns(300),
    );
  });

  it("knows logs, and files of several lines a record", () => {
    expect(names.filter(isLog)).toEqual(["combined", "common", "caddy-json", "nginx-json", "cloudfront"]);
    expect(names.filter(isCsv)).toEqual(["umami", "goatcounter"]);
  });
});
