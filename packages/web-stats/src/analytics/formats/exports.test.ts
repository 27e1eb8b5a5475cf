import { describe, expect, it } from "@jest/globals";
import { openGoatCounterExport, openUmamiExport } from "./exports.js";

const problem = { problem: expect.any(String) };

describe("openUmamiExport", () => {
  const row = {
    website_id: "9d3e1f6e-0d4b-4b39-9c8a-6f1f4ae6a001",
    session_id: "s1",
    visit_id: "v1",
    event_id: "e1",
    hostname: "example.com",
    browser: "edge-chromium",
    os: "Windows 10",
    device: "laptop",
    screen: "1440x900",
    language: "en-US",
    country: "DE",
    region: "DE-BE",
    city: "Berlin",
    url_path: "/pricing",
    url_query: "plan=pro",
    utm_source: "",
    utm_medium: "",
    utm_campaign: "",
    referrer_path: "/item",
    referrer_query: "id=1",
    referrer_domain: "news.ycombinator.com",
    page_title: '"Prices, and more"',
    gclid: "",
    event_type: "1",
    event_name: "",
    tag: "",
    distinct_id: "",
    created_at: "2026-05-17 10:05:03",
    job_id: "",
  };
  const read = (change: object = {}) => {
    const reader = openUmamiExport();
    expect(reader(Object.keys(row).join(","))).toBeNull();
    return reader(Object.values({ ...row, ...change }).join(","));
  };
  const of = (change: object = {}) => ({
    fields: {
      ts: "2026-05-17T10:05:03Z",
      url: "https://example.com/pricing?plan=pro",
      referrer: "https://news.ycombinator.com/item?id=1",
      country: "DE",
      visitor: "s1",
      browser: "Microsoft Edge",
      os: "Windows",
      device: "desktop",
      ...change,
    },
  });

  it.each([
    ["a page view", {}, of()],
    ["a custom event", { event_type: "2", event_name: "signup" }, of({ type: "event", name: "signup" })],
    ["a query with its mark", { url_query: "?plan=pro" }, of()],
    [
      "tags beside the query",
      { utm_source: "weekly news", gclid: "x" },
      of({ url: "https://example.com/pricing?plan=pro&utm_source=weekly%20news&gclid=x" }),
    ],
    [
      "tags in the query too",
      { url_query: "utm_source=a", utm_source: "a" },
      of({ url: "https://example.com/pricing?utm_source=a" }),
    ],
    ["no referrer", { referrer_domain: "", referrer_path: "" }, of({ referrer: null })],
    ["no host", { hostname: "" }, of({ url: undefined, path: "/pricing?plan=pro" })],
    ["a time with its zone", { created_at: "2026-05-17T12:05:03+02:00" }, of({ ts: "2026-05-17T12:05:03+02:00" })],
    ["an unknown country", { country: "T1" }, of({ country: undefined })],
    [
      "a name that we do not know",
      { browser: "beaker", os: "BeOS", device: "watch" },
      of({ browser: "beaker", os: "BeOS", device: null }),
    ],
    ["another type", { event_type: "4" }, problem],
  ])("reads %s", (_name, change, expected) => {
    expect(read(change)).toEqual(expected);
  });
});

describe("openGoatCounterExport", () => {
  const header =
    "2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,Screen size,Location,FirstVisit,Date";
  const row = {
    path: "/a.html",
    title: "A",
    event: "false",
    agent: "",
    browser: "Chrome 126",
    system: "macOS 10.15",
    session: "37f0a9f6-0d4b-4b39-9c8a-6f1f4ae6a001",
    bot: "0",
    referrer: "www.reddit.com/r/selfhosted",
    scheme: "h",
    size: '"1920,1080,1"',
    location: "US-TX",
    first: "true",
    date: "2026-05-17T10:05:03Z",
  };
  const read = (change: object = {}) => {
    const reader = openGoatCounterExport();
    expect(reader(header)).toBeNull();
    return reader(Object.values({ ...row, ...change }).join(","));
  };
  const of = (change: object = {}, isBot = false) => ({
    fields: {
      ts: row.date,
      path: "/a.html",
      referrer: "https://www.reddit.com/r/selfhosted",
      country: "US",
      visitor: row.session,
      browser: "Chrome",
      os: "macOS",
      ...change,
    },
    isBot,
  });

  it.each([
    ["a page view", {}, of()],
    ["an event", { path: "signup", event: "true" }, of({ path: undefined, type: "event", name: "signup" })],
    ["a name as source", { referrer: "Hacker News", scheme: "g" }, of({ referrer: "https://news.ycombinator.com/" })],
    [
      "a campaign",
      { referrer: "may mail", scheme: "c" },
      of({ referrer: undefined, path: "/a.html?utm_source=may%20mail" }),
    ],
    ["an app", { referrer: "com.example.app", scheme: "o" }, of({ referrer: "android-app://com.example.app" })],
    ["no referrer", { referrer: "", scheme: "" }, of({ referrer: undefined })],
    ["a bot", { bot: "3" }, of({}, true)],
    ["no session", { session: "00000000-0000-0000-0000-000000000000" }, of({ visitor: undefined })],
    [
      "no software and place",
      { browser: "", system: "", location: "" },
      of({ browser: null, os: null, country: undefined }),
    ],
    ["neither event nor view", { event: "" }, problem],
    ["no path", { path: "" }, problem],
  ])("reads %s", (_name, change, expected) => {
    expect(read(change)).toEqual(expected);
  });

  it("reads version 1, whose browser is the whole header, and no later version", () => {
    const reader = openGoatCounterExport();
    reader("1Path,Title,Event,Bot,Session,FirstVisit,Referrer,Referrer scheme,Browser,Screen size,Location,Date");
    expect(reader('/a.html,,false,0,s,true,,,Mozilla/5.0 (X11),"1,1,1",DE,2020-05-17T10:05:03Z')).toEqual({
      fields: {
        ts: "2020-05-17T10:05:03Z",
        path: "/a.html",
        country: "DE",
        visitor: "s",
        user_agent: "Mozilla/5.0 (X11)",
      },
      isBot: false,
    });
    expect(openGoatCounterExport()(header.replace("2Path", "3Path"))).toEqual(problem);
  });
});
