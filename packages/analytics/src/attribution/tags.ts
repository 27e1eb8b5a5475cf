import { cutToBytes } from "./utf8.js";

/** Bytes of UTF-8 that are read of a tag. */
export const tagMaxBytes = 255;

/** What the query of a visited URL tells about where the visit came from. Media and campaigns are in lower case. */
export interface Tags {
  /** `utm_source` as written. */
  readonly source: string | undefined;
  readonly medium: string;
  readonly campaign: string;
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

/** The tags of a query, or undefined where it has none. */
export function readTags(query: string | null): Tags | undefined {
  if (query === null || !anyTag.test(query)) return undefined;
  const parameters = new URLSearchParams(query);
  const source = tagOf(parameters, "utm_source");
  const medium = tagOf(parameters, "utm_medium")?.toLowerCase() ?? "";
  const campaign = tagOf(parameters, "utm_campaign")?.toLowerCase() ?? "";
  const click = clickIds.find(({ parameter }) => parameters.get(parameter));
  if (source === undefined && medium === "" && campaign === "" && !click) return undefined;
  return {
    source,
    medium,
    campaign,
    isDirect: source !== undefined && directSources.has(source.toLowerCase()) && medium === "",
    network: click?.network,
    isAdClick: click?.isAd === true && medium === "",
  };
}

/** A tag's text without control characters, which have no place in it and partly cannot be stored. */
function tagOf(parameters: URLSearchParams, name: string): string | undefined {
  const written = parameters.get(name);
  if (written === null) return undefined;
  const text = cutToBytes(written, tagMaxBytes)
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  return text === "" || emptyValues.has(text.toLowerCase()) ? undefined : text;
}
