import type { SourceKind } from "./source.js";

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
export const ownSources: readonly OwnSource[] = [
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
export const ownSearchHosts: Readonly<Record<string, string>> = {
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
export const notSearchHosts: ReadonlySet<string> = new Set(["cnn.com"]);

/** Search engines in a `utm_source`. Many of the list's hundreds are everyday words: `Free`, `Orange`, `You`. */
export const searchNames: readonly string[] = [
  ...["Google", "Bing", "Yahoo!", "DuckDuckGo", "Baidu", "Yandex", "Ecosia", "Qwant", "Brave", "StartPage", "Kagi"],
  ...["Naver", "Daum", "Seznam", "Sogou", "Rambler", "AOL", "Ask", "Lycos", "Mojeek", "Swisscows", "Cốc Cốc"],
];

/** Short names in `utm_source`, without blanks and signs. */
export const aliases: Readonly<Record<string, string>> = {
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
