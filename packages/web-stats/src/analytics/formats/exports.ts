import { type CsvRecord, type LineReader, openCsv, type Reading } from "./format.js";

/** Other tools' names of browsers and systems, in lower case and without a version, and those of the statistics. */
const browsers = byAlias({
  Chrome: "chrome mobile|chrome webview|chromium-webview|crios",
  "Microsoft Edge": "edge-chromium|edge-ios|edge",
  Firefox: "firefox mobile|fxios",
  "Internet Explorer": "ie",
  Safari: "ios-webview|ios|mobile safari",
  Opera: "opera mini|opera-mini",
  "Samsung Internet for Android": "samsung|samsung browser|samsung internet",
  "Android Browser": "android",
  "Amazon Silk": "silk",
  "Yandex Browser": "yandex|yandexbrowser",
  "UC Browser": "uc browser",
});

const systems = byAlias({
  Android: "android os",
  "Chrome OS": "chrome os|chromeos",
  Linux: "gnu/linux|ubuntu",
  iOS: "ipados",
  macOS: "mac|mac os|mac os x",
});

/** @param names other tools' names, with bars between, by the name of the statistics */
function byAlias(names: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(names).flatMap(([name, aliases]) => aliases.split("|").map((alias) => [alias, name] as const)),
  );
}

/** Names that differ from the statistics' own in letters' case alone. */
const usual = "Chrome Firefox Safari Opera Vivaldi Brave Chromium Windows macOS iOS Linux".split(" ");

const devices: Readonly<Record<string, string>> = {
  desktop: "desktop",
  laptop: "desktop",
  "ultra-wide monitor": "desktop",
  mobile: "mobile",
  tablet: "tablet",
  tv: "tv",
  smarttv: "tv",
};

export function browserName(text: string | undefined): string | null {
  return nameOf(text, browsers);
}

export function systemName(text: string | undefined): string | null {
  return nameOf(text, systems);
}

export function deviceName(text: string | undefined): string | null {
  return devices[text?.toLowerCase() ?? ""] ?? null;
}

/** The country's code, also of a region's; nothing for anything else, which must not cost the event. */
export function countryCode(text: string | undefined): string | undefined {
  return /^([A-Z]{2})(?:-.*)?$/.exec(text ?? "")?.[1];
}

/** Without a version: `Windows 10` counts as `Windows`, as live events do. An unknown name stays as it is. */
function nameOf(text: string | undefined, names: ReadonlyMap<string, string>): string | null {
  const name = text?.replace(/ [\d._]+$/, "").trim();
  if (!name || /^(unknown|\(not set\)|\(unknown\))$/i.test(name)) return null;
  const key = name.toLowerCase();
  return names.get(key) ?? usual.find((each) => each.toLowerCase() === key) ?? name;
}

/** Sources that GoatCounter names itself, by an address of theirs. */
const generated: Readonly<Record<string, string>> = {
  Bing: "https://www.bing.com/",
  DuckDuckGo: "https://duckduckgo.com/",
  Email: "https://mail.google.com/",
  Facebook: "https://www.facebook.com/",
  GitHub: "https://github.com/",
  Google: "https://www.google.com/",
  "Hacker News": "https://news.ycombinator.com/",
  Instagram: "https://www.instagram.com/",
  LinkedIn: "https://www.linkedin.com/",
  Lobsters: "https://lobste.rs/",
  Pinterest: "https://www.pinterest.com/",
  Reddit: "https://www.reddit.com/",
  Telegram: "https://web.telegram.org/",
  Twitter: "https://t.co/",
  YouTube: "https://www.youtube.com/",
};

/** GoatCounter's CSV export, versions 1 and 2: the version stands before the name of the first column. */
export function openGoatCounterExport(): LineReader {
  return openCsv(["Path", "Event", "Session", "Bot", "Date"], readGoatcounterRecord, (name) =>
    name.trim().replace(/^[12],?(?=Path$)/, ""),
  );
}

function readGoatcounterRecord(field: CsvRecord): Reading {
  const path = field("Path");
  const event = field("Event");
  if (path === undefined) return { problem: "Path: Required" };
  if (event !== "true" && event !== "false") return { problem: "Event: Must be true or false" };
  const { referrer, campaign } = originOf(field);
  const tag =
    campaign === undefined ? "" : `${path.includes("?") ? "&" : "?"}utm_source=${encodeURIComponent(campaign)}`;
  const agent = field("UserAgent") ?? field("User-Agent");
  const browser = field("Browser");
  // Version 1 has the whole header as the browser.
  const header = agent ?? (field("System") === undefined && browser?.includes("/") ? browser : undefined);
  return {
    fields: {
      ts: field("Date"),
      ...(event === "true" ? { type: "event", name: path } : { path: `${path}${tag}` }),
      referrer,
      country: countryCode(field("Location")),
      visitor: /[^0-]/.test(field("Session") ?? "") ? field("Session") : undefined,
      ...(header === undefined
        ? { browser: browserName(browser), os: systemName(field("System")) }
        : { user_agent: header }),
    },
    isBot: (field("Bot") ?? "0") !== "0",
  };
}

/** By the referrer's scheme: `h` an address, `g` a name of GoatCounter, `c` a campaign, `o` an app. */
function originOf(field: CsvRecord): { referrer?: string | undefined; campaign?: string } {
  const text = field("Referrer");
  if (text === undefined) return {};
  const scheme = field("Referrer scheme") ?? "h";
  if (scheme === "c") return { campaign: text };
  if (scheme === "g") return { referrer: generated[text] };
  if (/^[a-z-]+:\/\//i.test(text)) return { referrer: text };
  if (scheme === "h") return { referrer: `https://${text}` };
  return { referrer: /^\w+(?:\.\w+)+$/.test(text) ? `android-app://${text}` : undefined };
}

/** Columns whose values a query may lack, as newer versions store them apart. */
const queryColumns = "utm_source utm_medium utm_campaign gclid fbclid msclkid ttclid twclid".split(" ");

/** `website_event.csv` of Umami: one event a record. Its sessions are visitors; the properties of events are in another file. */
export function openUmamiExport(): LineReader {
  return openCsv(["session_id", "url_path", "event_type", "created_at"], readUmamiRecord);
}

function readUmamiRecord(field: CsvRecord): Reading {
  const type = field("event_type");
  if (type !== "1" && type !== "2") return { problem: "event_type: Must be 1 (page view) or 2 (custom event)" };
  const path = field("url_path") ?? "/";
  const query = queryOf(field);
  const location = `${path.startsWith("/") ? path : `/${path}`}${query && `?${query}`}`;
  const origin = `https://${field("hostname")}`;
  const hasHost = field("hostname") !== undefined && URL.canParse(origin + location);
  return {
    fields: {
      ts: timeOf(field("created_at")),
      ...(type === "2" && { type: "event", name: field("event_name") }),
      ...(hasHost ? { url: origin + location } : { path: location }),
      referrer: referrerOf(field),
      country: countryCode(field("country")),
      visitor: field("session_id"),
      browser: browserName(field("browser")),
      os: systemName(field("os")),
      device: deviceName(field("device")),
    },
  };
}

/** `2026-05-17 10:05:03`, in UTC. */
function timeOf(text: string | undefined): string | undefined {
  return text && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/.test(text) ? `${text.replace(" ", "T")}Z` : text;
}

function queryOf(field: CsvRecord): string {
  const written = (field("url_query") ?? "").replace(/^\?/, "");
  const known = new URLSearchParams(written);
  const others = queryColumns.flatMap((name) => {
    const value = known.has(name) ? undefined : field(name);
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  return [...(written === "" ? [] : [written]), ...others].join("&");
}

function referrerOf(field: CsvRecord): string | null {
  const domain = field("referrer_domain");
  if (domain === undefined) return null;
  const query = field("referrer_query");
  return `https://${domain}${field("referrer_path") ?? "/"}${query ? `?${query.replace(/^\?/, "")}` : ""}`;
}
