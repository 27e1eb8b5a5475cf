import { type ListColumn, listColumns } from "../../lists/lists.js";
import { cutToBytes } from "./cut-to-bytes.js";

/** Bytes of UTF-8; the rest of a longer tag is cut. */
const tagMaxBytes = 255;

type TagName = Extract<ListColumn, `utm_${string}`>;

const tagNames = listColumns.filter((column): column is TagName => column.startsWith("utm_"));

/** Tags as stored: `utm_source` as written, others in lower case; null for none. */
export type TagValues = Readonly<Record<TagName, string | null>>;

/** The tags and click ids of a visited URL. */
export interface Tags {
  readonly values: TagValues;
  /** `utm_source=(direct)`: the visit has no source. */
  readonly isDirect: boolean;
  /** The network of a click id. */
  readonly network: string | undefined;
  /** The click id is of an advertisement, and there is no `utm_medium`. */
  readonly isAdClick: boolean;
}

/** Facebook adds its click id to every link, the other networks to advertisements only. */
const clickIds: readonly { parameter: string; network: string; isAd: boolean }[] = [
  { parameter: "gclid", network: "Google", isAd: true },
  { parameter: "gbraid", network: "Google", isAd: true },
  { parameter: "wbraid", network: "Google", isAd: true },
  { parameter: "msclkid", network: "Bing", isAd: true },
  { parameter: "yclid", network: "Yandex", isAd: true },
  { parameter: "ttclid", network: "TikTok", isAd: true },
  { parameter: "twclid", network: "Twitter", isAd: true },
  { parameter: "fbclid", network: "Facebook", isAd: false },
];

/** Most queries have neither, and parsing one costs more than this test. */
const anyTag = /utm_|cl(?:k)?id=|braid=/;

const directSources = new Set(["(direct)", "direct"]);
const emptyValues = new Set(["(not set)", "(none)"]);

export const noTags = readParameters(new URLSearchParams());

export function readTags(query: string | null): Tags {
  return query !== null && anyTag.test(query) ? readParameters(new URLSearchParams(query)) : noTags;
}

function readParameters(parameters: URLSearchParams): Tags {
  const values = Object.fromEntries(tagNames.map((name) => [name, readTag(parameters, name)])) as TagValues;
  const { utm_source, utm_medium } = values;
  const click = clickIds.find(({ parameter }) => parameters.get(parameter));
  return {
    values,
    isDirect: utm_source !== null && directSources.has(utm_source.toLowerCase()) && utm_medium === null,
    network: click?.network,
    isAdClick: click?.isAd === true && utm_medium === null,
  };
}

/** A tag without control characters: Postgres cannot store all of them. */
function readTag(parameters: URLSearchParams, name: TagName): string | null {
  const written = parameters.get(name);
  if (written === null) return null;
  const text = cutToBytes(written, tagMaxBytes)
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  if (text === "" || emptyValues.has(text.toLowerCase())) return null;
  return name === "utm_source" ? text : text.toLowerCase();
}
