import { describe, expect, it } from "@jest/globals";
import { ofPeople } from "./combined-log.fixture.js";
import { openCloudFrontLog } from "./logs.js";

const fields =
  "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) " +
  "x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken";

const request = {
  date: "2026-05-17",
  time: "10:05:03",
  "x-edge-location": "IAD89-C3",
  "sc-bytes": "335",
  "c-ip": "192.0.2.7",
  "cs-method": "GET",
  "cs(Host)": "d111111abcdef8.cloudfront.net",
  "cs-uri-stem": "/a",
  "sc-status": "200",
  "cs(Referer)": "-",
  "cs(User-Agent)": "Mozilla/5.0%20(X11;%20Linux)%20%22x%22",
  "cs-uri-query": "-",
  "cs(Cookie)": "-",
  "x-edge-result-type": "Hit",
  "x-edge-request-id": "id==",
  "x-host-header": "www.example.com",
  "cs-protocol": "https",
  "cs-bytes": "123",
  "time-taken": "0.001",
};
const line = (change: object = {}) => Object.values({ ...request, ...change }).join("\t");
const of = (change: object = {}) => ({
  fields: {
    ts: "2026-05-17T10:05:03Z",
    ip: "192.0.2.7",
    referrer: null,
    user_agent: 'Mozilla/5.0 (X11; Linux) "x"',
    url: "https://www.example.com/a",
    ...change,
  },
});
const problem = { problem: expect.any(String) };

describe("openCloudFrontLog", () => {
  it.each([
    ["all fields", line(), of()],
    [
      "a query",
      line({ "cs-uri-query": "utm_source=x&q=a%2520b" }),
      of({ url: "https://www.example.com/a?utm_source=x&q=a%20b" }),
    ],
    [
      "a browser encoded twice",
      line({ "cs(User-Agent)": "Mozilla/5.0%2520(X11)" }),
      of({ user_agent: "Mozilla/5.0 (X11)" }),
    ],
    ["a path encoded twice", line({ "cs-uri-stem": "/a%2520b" }), of({ url: "https://www.example.com/a%20b" })],
    [
      "a referrer",
      line({ "cs(Referer)": "https://news.example/?a=%2522" }),
      of({ referrer: "https://news.example/?a=%22" }),
    ],
    ["plain HTTP", line({ "cs-protocol": "http" }), of({ url: "http://www.example.com/a" })],
    ["no host header", line({ "x-host-header": "-" }), of({ url: "https://d111111abcdef8.cloudfront.net/a" })],
    ["an IPv6 address", line({ "c-ip": "2001:db8::1" }), of({ ip: "2001:db8::1" })],
    ["another method", line({ "cs-method": "HEAD" }), { leftOut: "method" }],
    ["an aborted request", line({ "sc-status": "000" }), { leftOut: "status" }],
    ["an asset", line({ "cs-uri-stem": "/app.js" }), { leftOut: "asset" }],
    ["a comment", "#Version: 1.0", null],
    ["a line that was cut", line().slice(0, 40), problem],
    ["anything", "hello", problem],
  ])("reads %s", (_name, text, expected) => {
    expect(ofPeople(openCloudFrontLog()(text))).toEqual(expected);
  });

  it("follows the names of the fields, also those of a second file", () => {
    const read = openCloudFrontLog();
    expect(read(`#Fields: ${fields}`)).toBeNull();
    expect(ofPeople(read(line()))).toEqual(of());
    expect(read("#Fields: date time cs-uri-stem sc-status cs-method c-ip")).toBeNull();
    expect(ofPeople(read("2026-05-17\t10:05:03\t/b\t200\tGET\t192.0.2.7"))).toEqual(
      of({ user_agent: null, url: undefined, path: "/b" }),
    );
  });
});
