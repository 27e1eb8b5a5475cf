import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** The kinds with a channel of their own, and `other`. */
export type SourceKind = "search" | "social" | "video" | "shopping" | "ai" | "email" | "other";

/** A source by its name in the statistics. */
export interface Source {
  readonly name: string;
  readonly kind: SourceKind;
}

/** A source missing from the public lists, or better known here. */
interface OwnSource {
  readonly name: string;
  readonly kind: SourceKind;
  /** Hosts, each with its subdomains; `{}` at the end stands for any country's ending. */
  readonly hosts: readonly string[];
}

/**
 * Missing from the public lists, or elsewhere in GA4's categories: video sites apart from social ones, and shopping sites.
 * Webmail is our addition: its readers followed a link in a mail.
 */
const ownSources: readonly OwnSource[] = [
  { name: "YouTube", kind: "video", hosts: ["youtube.com", "youtu.be", "com.google.android.youtube"] },
  { name: "Vimeo", kind: "video", hosts: ["vimeo.com"] },
  { name: "Twitch", kind: "video", hosts: ["twitch.tv"] },
  { name: "Dailymotion", kind: "video", hosts: ["dailymotion.com"] },
  { name: "Netflix", kind: "video", hosts: ["netflix.com"] },
  { name: "Hulu", kind: "video", hosts: ["hulu.com"] },
  { name: "Disney+", kind: "video", hosts: ["disneyplus.com"] },
  { name: "TED", kind: "video", hosts: ["ted.com"] },
  { name: "Wistia", kind: "video", hosts: ["wistia.com", "fast.wistia.net"] },
  { name: "Youku", kind: "video", hosts: ["youku.com"] },
  { name: "iQIYI", kind: "video", hosts: ["iqiyi.com", "iq.com"] },
  { name: "Amazon", kind: "shopping", hosts: ["amazon.{}"] },
  { name: "eBay", kind: "shopping", hosts: ["ebay.{}"] },
  { name: "Etsy", kind: "shopping", hosts: ["etsy.com"] },
  { name: "Walmart", kind: "shopping", hosts: ["walmart.com"] },
  { name: "Alibaba", kind: "shopping", hosts: ["alibaba.com"] },
  { name: "Shopify", kind: "shopping", hosts: ["shopify.com", "shop.app"] },
  { name: "Mercado Libre", kind: "shopping", hosts: ["mercadolibre.{}"] },
  {
    name: "Google Shopping",
    kind: "shopping",
    hosts: ["shopping.google.{}", "google.{}/products", "google.{}/shopping"],
  },
  { name: "Hacker News", kind: "social", hosts: ["news.ycombinator.com"] },
  { name: "Lobsters", kind: "social", hosts: ["lobste.rs"] },
  { name: "Slashdot", kind: "social", hosts: ["slashdot.org"] },
  { name: "Quora", kind: "social", hosts: ["quora.com"] },
  { name: "Medium", kind: "social", hosts: ["medium.com"] },
  { name: "Facebook", kind: "social", hosts: ["facebook.com", "fb.com", "com.facebook.katana"] },
  { name: "Messenger", kind: "social", hosts: ["messenger.com"] },
  { name: "WhatsApp", kind: "social", hosts: ["whatsapp.com", "wa.me", "com.whatsapp"] },
  { name: "Telegram", kind: "social", hosts: ["t.me", "telegram.me", "telegram.org", "org.telegram.messenger"] },
  { name: "Twitter", kind: "social", hosts: ["twitter.com", "x.com", "t.co", "com.twitter.android"] },
  { name: "LinkedIn", kind: "social", hosts: ["linkedin.com", "lnkd.in", "com.linkedin.android"] },
  { name: "Instagram", kind: "social", hosts: ["instagram.com", "com.instagram.android"] },
  { name: "TikTok", kind: "social", hosts: ["tiktok.com", "com.zhiliaoapp.musically"] },
  { name: "Pinterest", kind: "social", hosts: ["pinterest.{}", "pin.it", "com.pinterest"] },
  { name: "Gemini", kind: "ai", hosts: ["gemini.google.com", "com.google.android.apps.bard"] },
  { name: "Copilot", kind: "ai", hosts: ["copilot.microsoft.com", "copilot.com", "edgeservices.bing.com"] },
  { name: "Deepseek", kind: "ai", hosts: ["deepseek.com"] },
  { name: "Gmail", kind: "email", hosts: ["mail.google.com", "com.google.android.gm"] },
  {
    name: "Outlook",
    kind: "email",
    hosts: [
      "outlook.live.com",
      "outlook.com",
      "outlook.office.com",
      "outlook.office365.com",
      "com.microsoft.office.outlook",
    ],
  },
  { name: "Yahoo! Mail", kind: "email", hosts: ["mail.yahoo.com", "mail.yahoo.co.jp"] },
  { name: "Proton Mail", kind: "email", hosts: ["mail.proton.me", "mail.protonmail.com"] },
  { name: "Wikipedia", kind: "other", hosts: ["wikipedia.org"] },
];

/** Portals of search engines; the public lists have only their search pages. */
const ownSearchHosts: Readonly<Record<string, string>> = {
  "yahoo.com": "Yahoo!",
  "yahoo.co.jp": "Yahoo! Japan",
  "baidu.com": "Baidu",
  "naver.com": "Naver",
  "seznam.cz": "Seznam",
  "sogou.com": "Sogou",
  "aol.com": "AOL",
  "ya.ru": "Yandex",
};

/** The public list has these hosts for one search page, but browsers send only the host, so any page would be a search. */
const notSearchHosts: ReadonlySet<string> = new Set(["cnn.com"]);

/** Search engines in a `utm_source`. Many of the list's hundreds are everyday words: `Free`, `Orange`, `You`. */
const searchNames: readonly string[] = [
  ...["Google", "Bing", "Yahoo!", "DuckDuckGo", "Baidu", "Yandex", "Ecosia", "Qwant", "Brave", "StartPage", "Kagi"],
  ...["Naver", "Daum", "Seznam", "Sogou", "Rambler", "AOL", "Ask", "Lycos", "Mojeek", "Swisscows", "Cốc Cốc"],
];

/** Short names in `utm_source`, without blanks and signs. */
const aliases: Readonly<Record<string, string>> = {
  fb: "Facebook",
  facebookads: "Facebook",
  meta: "Facebook",
  ig: "Instagram",
  yt: "YouTube",
  hn: "Hacker News",
  x: "Twitter",
  tw: "Twitter",
  googleads: "Google",
  gads: "Google",
  adwords: "Google",
  bingads: "Bing",
  microsoftads: "Bing",
  openai: "ChatGPT",
};

export interface ReferrerDirectory {
  /**
   * @param host lower case, with or without `www.`, or the id of an app, such as `com.twitter.android`
   * @param path of the referrer; a few sources need it, such as `google.com/imgres`
   */
  byHost(host: string, path?: string): Source | undefined;
  /** @param name as in a `utm_source`, in any case: `google`, `hacker-news`, `fb` */
  byName(name: string): Source | undefined;
}

interface Entry {
  /** The start of the path; empty for any. */
  readonly path: string;
  readonly source: Source;
  readonly withSubdomains: boolean;
}

/** A country at the end of a host: `com`, `de`, `co.uk`, `com.br`. */
const countryEnding = /\.(?:com|(?:(?:ac|co|com|edu|gov|ne|net|or|org)\.)?[a-z]{2})$/;

let loaded: ReferrerDirectory | undefined;

/** The directory from the lists in `assets/referrers`, read at the first call. */
export function loadReferrers(): ReferrerDirectory {
  loaded ??= buildDirectory();
  return loaded;
}

function buildDirectory(): ReferrerDirectory {
  const entries = new Map<string, Entry[]>();
  const names = new Map<string, Source>();
  const add = (name: string, kind: SourceKind, hosts: readonly string[], isNameKnown: boolean) => {
    const source: Source = { name, kind };
    for (const host of hosts) addEntry(entries, host, source);
    if (isNameKnown && !names.has(squeeze(name))) names.set(squeeze(name), source);
  };
  // The first entry wins: our sources, then assistants, social networks, search engines.
  for (const { name, kind, hosts } of ownSources) add(name, kind, hosts, true);
  for (const [name, hosts] of readList("AIAssistants")) add(name, "ai", hosts, true);
  for (const [name, hosts] of readList("Socials")) add(name, "social", hosts, true);
  for (const [host, name] of Object.entries(ownSearchHosts)) add(name, "search", [host], false);
  for (const [name, hosts] of readList("SearchEngines")) add(name, "search", hosts, searchNames.includes(name));
  for (const [alias, name] of Object.entries(aliases)) {
    const source = names.get(squeeze(name));
    if (source) names.set(alias, source);
  }
  return {
    byHost: (host, path = "/") => findByHost(entries, host, path),
    byName: (name) => names.get(squeeze(name)),
  };
}

/** A list by name and hosts. Search engines have further members, not needed here. */
function readList(file: "AIAssistants" | "Socials" | "SearchEngines"): [string, string[]][] {
  const text = readFileSync(new URL(`../../../assets/referrers/${file}.yml`, import.meta.url), "utf8");
  const list: Record<string, (string | { urls?: string[] })[]> = parse(text);
  return Object.entries(list).map(([name, groups]) => [
    // One name in the lists is percent-encoded ("Google%2B").
    name.replace("%2B", "+"),
    groups.flatMap((group) => (typeof group === "string" ? [group] : (group.urls ?? []))),
  ]);
}

function addEntry(entries: Map<string, Entry[]>, pattern: string, source: Source): void {
  const slash = pattern.indexOf("/");
  const host = withoutWww(slash < 0 ? pattern : pattern.slice(0, slash));
  const path = slash < 0 ? "" : pattern.slice(slash);
  if (source.kind === "search" && notSearchHosts.has(host)) return;
  const atHost = entries.get(host) ?? [];
  if (atHost.some((entry) => entry.path === path)) return;
  // A search engine's other subdomains are other things: mail, documents, maps.
  atHost.push({ path, source, withSubdomains: source.kind !== "search" });
  atHost.sort((a, b) => b.path.length - a.path.length);
  entries.set(host, atHost);
}

function findByHost(entries: Map<string, Entry[]>, host: string, path: string): Source | undefined {
  const bare = withoutWww(host);
  const exact = findEntry(entries, bare, path, false) ?? findEntry(entries, bare.replace(/^m\./, ""), path, false);
  if (exact) return exact.source;
  for (let dot = bare.indexOf("."); dot >= 0; dot = bare.indexOf(".", dot + 1)) {
    const entry = findEntry(entries, bare.slice(dot + 1), path, true);
    if (entry) return entry.source;
  }
  return undefined;
}

function findEntry(entries: Map<string, Entry[]>, host: string, path: string, isParent: boolean): Entry | undefined {
  for (const key of keysOf(host)) {
    const entry = entries.get(key)?.find((each) => path.startsWith(each.path) && (each.withSubdomains || !isParent));
    if (entry) return entry;
  }
  return undefined;
}

/** The forms of a host in the lists: itself, and with `{}` for its country. */
function keysOf(host: string): string[] {
  const keys = [host];
  if (countryEnding.test(host)) keys.push(host.replace(countryEnding, ".{}"));
  const labels = host.split(".");
  for (let i = 0; i < labels.length - 1; i++) {
    if (labels[i]?.length === 2) keys.push(labels.with(i, "{}").join("."));
  }
  return keys;
}

function withoutWww(host: string): string {
  return host.replace(/^www\d*\./, "");
}

function squeeze(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("+", "plus")
    .replace(/[^\p{L}\p{N}]/gu, "");
}
