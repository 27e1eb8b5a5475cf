import { AccountError } from "./account-error.js";

const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const ipv4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/** RFC 1035, 2.3.4, without the root's dot. */
const maxDomainLength = 253;

/**
 * A site's domain as the database stores it: the bare host in lower case and ASCII, without scheme, port and path. An address
 * like `https://Example.com/` stands for its host; names in other scripts become punycode.
 * @throws AccountError `invalid_domain`
 */
export function normaliseDomain(text: string): string {
  const host = hostOf(text.trim());
  if (host !== undefined && isDomain(host, text)) return host;
  throw new AccountError("invalid_domain", `'${text}' is not a domain. Give one like example.com.`);
}

function hostOf(text: string): string | undefined {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  return url.hostname.replace(/\.$/, "");
}

function isDomain(host: string, text: string): boolean {
  if (host.length > maxDomainLength || !host.split(".").every((part) => label.test(part))) return false;
  // The URL parser reads `1` as the address 0.0.0.1, and nobody means that.
  if (ipv4.test(host)) return text.includes(host);
  return host.includes(".") || host === "localhost";
}
