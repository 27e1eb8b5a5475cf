import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** The kinds with a channel of their own, and `other`. */
export type SourceKind = "search" | "social" | "video" | "shopping" | "ai" | "email" | "other";

export interface Source {
  readonly name: string;
  readonly kind: SourceKind;
}

/**
 * Missing from the public lists, or elsewhere in GA4's categories: video sites apart from social ones, and shopping sites.
 * Webmail is our addition: its readers followed a link in a mail. Hosts count with their subdomains; `{}` at the end stands for any
 * country's ending.
 */
const ownSources: Readonly<Record<Exclude<SourceKind, "search">, Readonly<Record<string, string>>>> = {
  video: {
    YouTube: "youtube.com youtu.be com.google.android.youtube",
    Vimeo: "vimeo.com",
    Twitch: "twitch.tv",
    Dailymotion: "dailymotion.com",
    Netflix: "netflix.com",
    Hulu: "hulu.com",
    "Disney+": "disneyplus.com",
    TED: "ted.com",
    Wistia: "wistia.com fast.wistia.net",
    Youku: "youku.com",
    iQIYI: "iqiyi.com iq.com",
  },
  shopping: {
    Amazon: "amazon.{}",
    eBay: "ebay.{}",
    Etsy: "etsy.com",
    Walmart: "walmart.com",
    Alibaba: "alibaba.com",
    Shopify: "shopify.com shop.app",
    "Mercado Libre": "mercadolibre.{}",
    "Google Shopping": "shopping.google.{} google.{}/products google.{}/shopping",
  },
  social: {
    "Hacker News": "news.ycombinator.com",
    Lobsters: "lobste.rs",
    Slashdot: "slashdot.org",
    Quora: "quora.com",
    Medium: "medium.com",
    Facebook: "facebook.com fb.com com.facebook.katana",
    Messenger: "messenger.com",
    WhatsApp: "whatsapp.com wa.me com.whatsapp",
    Telegram: "t.me telegram.me telegram.org org.telegram.messenger",
    Twitter: "twitter.com x.com t.co com.twitter.android",
    LinkedIn: "linkedin.com lnkd.in com.linkedin.android",
    Instagram: "instagram.com com.instagram.android",
    TikTok: "tiktok.com com.zhiliaoapp.musically",
    Pinterest: "pinterest.{} pin.it com.pinterest",
  },
  ai: {
    Gemini: "gemini.google.com com.google.android.apps.bard",
    Copilot: "copilot.microsoft.com copilot.com edgeservices.bing.com",
    Deepseek: "deepseek.com",
  },
  email: {
    Gmail: "mail.google.com com.google.android.gm",
    Outlook: "outlook.live.com outlook.com outlook.office.com outlook.office365.com com.microsoft.office.outlook",
    "Yahoo! Mail": "mail.yahoo.com mail.yahoo.co.jp",
    "Proton Mail": "mail.proton.me mail.protonmail.com",
  },
  other: { Wikipedia: "wikipedia.org" },
};

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
  for (const [kind, sources] of Object.entries(ownSources)) {
    for (const [name, hosts] of Object.entries(sources)) add(name, kind as SourceKind, hosts.split(" "), true);
  }
  for (const [name, hosts] of readList("AIAssistants")) add(name, "ai", hosts, true);
  for (const [name, hosts] of readList("Socials")) add(name, "social", hosts, true);
  for (const [host, name] of Object.entries(ownSearchHosts)) add(name, "search", [host], false);
  for (const [name, hosts] of readList("SearchEngines")) add(name, "search", hosts, searchNames.includes(name));
  for (const [alias, name] of Object.entries(aliases)) {
    const source = names.get(squeeze(name));
    if (source) names.set(alias, source);
  }
  return { byHost: (host, path = "/") => findByHost(entries, host, path), byName: (name) => names.get(squeeze(name)) };
}

/** A list by name and hosts. Search engines have further members, not needed here. */
function readList(file: "AIAssistants" | "Socials" | "SearchEngines"): [string, string[]][] {
  const text = readFileSync(new URL(`../../../assets/referrers/${file}.yml`, import.meta.url), "utf8");
  // The npm package has them as JSON, which takes 0.4 s less at each start.
  const list: Record<string, (string | { urls?: string[] })[]> = text.startsWith("{") ? JSON.parse(text) : parse(text);
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
