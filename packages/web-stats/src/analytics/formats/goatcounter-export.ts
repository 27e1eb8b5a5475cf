import { type CsvRecord, openCsv } from "./csv.js";
import { browserName, countryCode, systemName } from "./export-names.js";
import type { LineReader, Reading } from "./format.js";

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

/**
 * The CSV export of GoatCounter, one view or event a record, in its versions 1 and 2. The number of the version stands before the
 * name of the first column.
 */
export function openGoatCounterExport(): LineReader {
  return openCsv(["Path", "Event", "Session", "Bot", "Date"], readRecord, (name) =>
    name.trim().replace(/^[12],?(?=Path$)/, ""),
  );
}

function readRecord(field: CsvRecord): Reading {
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
