import { type ListColumn, listColumns } from "@waymark/lists";
import { cutToBytes } from "./cut-to-bytes.js";

/** Bytes of UTF-8 that are read of a tag. */
export const tagMaxBytes = 255;

/** A tag that a list counts. */
type TagName = Extract<ListColumn, `utm_${string}`>;

const tagNames = listColumns.filter((column): column is TagName => column.startsWith("utm_"));

/** Tags as they are recorded: `utm_source` as written, the others in lower case; null for none. */
export type TagValues = Readonly<Record<TagName, string | null>>;

/** What the query of a visited URL tells about where the visit came from. */
export interface Tags {
  readonly values: TagValues;
  /** The tags themselves say that the visit came from nowhere. */
  readonly isDirect: boolean;
  /** The network that put a click id into the URL. */
  readonly network: string | undefined;
  /** That click id is one of an advertisement, and no `utm_medium` says what else it was. */
  readonly isAdClick: boolean;
}

/**
 * Parameters that networks add to the links they show. Facebook adds its own to every link, paid or not; the others
 * add theirs to advertisements alone.
 */
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

/** Whether a query may hold anything of ours: most do not, and reading one costs more than this look. */
const anyTag = /utm_|cl(?:k)?id=|braid=/;

const directSources = new Set(["(direct)", "direct"]);
const emptyValues = new Set(["(not set)", "(none)"]);

/** The tags of a query without any. */
const noTags = readParameters(new URLSearchParams());

/** The tags of a query. */
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

/** A tag's text without control characters, which Postgres cannot all store. */
function readTag(parameters: URLSearchParams, name: TagName): string | null {
  const written = parameters.get(name);
  if (written === null) return null;
  const text = cutToBytes(written, tagMaxBytes)
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  if (text === "" || emptyValues.has(text.toLowerCase())) return null;
  return name === "utm_source" ? text : text.toLowerCase();
}
