import { loadReferrers } from "../attribution/referrer-directory.js";
import { type Classification, createSourceClassifier } from "../attribution/source-classifier.js";
import { createUserAgentReader, type UserAgent } from "../attribution/user-agent.js";
import { hashPseudonym, hashVisitor } from "../visitors/hash-visitor.js";
import type { Salts } from "../visitors/salts.query.js";
import type { Derived, ImportLine } from "./import-line.schema.js";

/** What a line's event has from elsewhere. Equal arrivals and software are mostly the same object. */
export interface Attribution {
  readonly host: string | null;
  readonly country: string | null;
  readonly arrival: Classification;
  /** Of an exported line all that nothing else could derive again. */
  readonly software: UserAgent | Derived;
}

export function createAttribution({ domain, countryOf }: { domain: string; countryOf: (ip: string) => string | null }) {
  const classify = createSourceClassifier({ referrers: loadReferrers(), siteDomain: domain });
  const readUserAgent = createUserAgentReader();
  return (line: ImportLine): Attribution => {
    const { ip, derived } = line;
    return {
      host: derived ? derived.host : line.host,
      country: line.country ?? (ip === null ? null : countryOf(ip)),
      arrival: classify(line.referrer, line.query),
      software: derived ?? line.software ?? readUserAgent(line.userAgent),
    };
  };
}

/** Whether the line's visitor is by address and browser, which needs the day's salt. */
export function isSalted({ visitor, ip, userAgent }: ImportLine): boolean {
  return visitor === null && (ip !== null || userAgent !== null);
}

/** The UTC day of a line, `YYYY-MM-DD`. */
export function dayOf({ at }: ImportLine): string {
  return at.slice(0, 10);
}

/**
 * Makes the function that names the visitor of a line, which remembers those of a batch: each has several lines.
 * @param salts of the days of lines that are `isSalted`
 */
export function createVisitorOf(siteId: string, salts: Salts): (line: ImportLine) => string | null {
  const days = new Map<string, Map<string, string>>();
  let day = "none";
  let known = new Map<string, string>();
  const turnTo = (other: string) => {
    day = other;
    known = days.get(day) ?? new Map();
    days.set(day, known);
  };
  return (line) => {
    const { at, visitor, ip, userAgent } = line;
    // A line without pseudonym, address and browser counts as a view alone.
    if (visitor === null && ip === null && userAgent === null) return null;
    if (!at.startsWith(day)) turnTo(dayOf(line));
    // No pseudonym contains NUL.
    const key = visitor ?? `${ip ?? ""}\0${userAgent ?? ""}`;
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    const named = visitor === null ? ofClient(line, siteId, salts.get(day)) : hashPseudonym(siteId, day, visitor);
    known.set(key, named);
    return named;
  };
}

function ofClient(line: ImportLine, siteId: string, salt: Buffer | undefined): string {
  if (!salt) throw new Error(`There is no salt for ${dayOf(line)}`);
  return hashVisitor(salt, siteId, line.ip ?? "", line.userAgent ?? "");
}
