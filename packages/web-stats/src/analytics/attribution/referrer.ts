import { Buffer } from "node:buffer";

export interface Referrer {
  /** Lower case, without port and `www.`; an app's id, such as `com.twitter.android`. */
  readonly host: string;
  readonly path: string;
  /** The address to store, without query, fragment and user name. */
  readonly stored: string;
}

/** A longer referrer keeps its origin only. */
const referrerMaxBytes = 2_000;

/** DNS allows no longer name (RFC 1035, 2.3.4). */
const hostMaxLength = 253;

const appAddress = /^(android-app|ios-app):\/\/([\w.-]+)(?:\/(https?)\/(.+))?/i;
const bareAddress = /^(?:\/\/)?([a-z\d-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]|$)/i;

/**
 * Reads a referrer as browsers, apps and access logs write it. An address without `http://` counts like one with it, and an
 * app's address with a web page like that page.
 * @returns undefined for an empty text, `-`, `about:blank`, files and unreadable text
 */
export function readReferrer(text: string): Referrer | undefined {
  const trimmed = text.trim();
  const app = appAddress.exec(trimmed);
  if (app) {
    const [, scheme = "", id = "", pageScheme, page] = app;
    if (pageScheme && page) return readWebAddress(`${pageScheme}://${page}`);
    const host = id.toLowerCase();
    return host.length > hostMaxLength ? undefined : { host, path: "/", stored: `${scheme.toLowerCase()}://${host}` };
  }
  if (/^https?:/i.test(trimmed)) return readWebAddress(trimmed);
  return bareAddress.test(trimmed) ? readWebAddress(`http://${trimmed.replace(/^\/\//, "")}`) : undefined;
}

function readWebAddress(text: string): Referrer | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const host = bareHost(url.hostname);
  if (host === "" || host.length > hostMaxLength) return undefined;
  const whole = url.origin + url.pathname;
  const stored = Buffer.byteLength(whole) <= referrerMaxBytes ? whole : url.origin;
  return { host, path: url.pathname, stored };
}

/** In lower case, without a final dot and `www.`. */
export function bareHost(host: string): string {
  const lower = host.toLowerCase().replace(/\.+$/, "");
  return /^www\..*\./.test(lower) ? lower.slice(4) : lower;
}

/** The host of a site's domain as people write it: `www.Example.com`, `https://example.com/`, `localhost:3000`. */
export function siteHost(domain: string): string {
  const withoutScheme = domain.trim().replace(/^[a-z]+:\/\//i, "");
  const address = `http://${withoutScheme}`;
  return bareHost(URL.canParse(address) ? new URL(address).hostname : withoutScheme);
}
