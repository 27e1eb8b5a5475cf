import { type CsvRecord, openCsv } from "./csv.js";
import { browserName, countryCode, deviceName, systemName } from "./export-names.js";
import type { LineReader, Reading } from "./format.js";

/** Columns whose values a query may lack, as newer versions store them apart. */
const queryColumns = "utm_source utm_medium utm_campaign gclid fbclid msclkid ttclid twclid".split(" ");

/** `website_event.csv` of Umami: one event a record. Its sessions are visitors; the properties of events are in another file. */
export function openUmamiExport(): LineReader {
  return openCsv(["session_id", "url_path", "event_type", "created_at"], readRecord);
}

function readRecord(field: CsvRecord): Reading {
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
