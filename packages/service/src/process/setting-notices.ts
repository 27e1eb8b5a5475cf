import type { Logger } from "pino";
import { editDistance } from "../fields/edit-distance.js";

/** Settings of earlier versions, without effect. */
const deletedSettings = [
  "ALERT_MAILS_PER_TRACE_PER_HOUR",
  "COLLECTOR_FILES",
  "COLLECTOR_RATE_LIMIT_PER_SITE",
  "SWEEP_INTERVAL_SECONDS",
];

const hasWideNetwork = (text: string) => text.split(/[\s,]+/).some((network) => /\/[0-7]$/.test(network));

/** Values that work, and open an installation. */
const unsafeValues: Readonly<Record<string, { isUnsafe(value: string): boolean; says: string }>> = {
  NODE_TLS_REJECT_UNAUTHORIZED: {
    isUnsafe: (value) => value === "0",
    says: "takes every certificate, so whoever is between reads passwords: delete it, and set NODE_EXTRA_CA_CERTS",
  },
  TRUSTED_PROXIES: {
    isUnsafe: hasWideNetwork,
    says: "has a network of millions, so every client may choose its address: name the proxies alone",
  },
  WEBHOOK_ALLOW_PRIVATE: {
    isUnsafe: hasWideNetwork,
    says: "has a network of millions, so every account reaches private servers: name the few it needs",
  },
};

export interface SettingNotice {
  readonly name: string;
  /** Goes on after the name. */
  readonly says: string;
}

/**
 * What an operator should know about settings that work: deleted ones, probable misspellings of known ones, unsafe values. An
 * environment has names of other programs, so only near misses count, and of long names more.
 */
export function findNotices(env: NodeJS.ProcessEnv, known: readonly string[]): SettingNotice[] {
  const isKnown = new Set(known);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value) return [];
    if (deletedSettings.includes(name)) return { name, says: "has no effect any more: delete it" };
    if (unsafeValues[name]?.isUnsafe(value)) return { name, says: unsafeValues[name].says };
    const meant = isKnown.has(name) ? undefined : known.find((each) => isNear(plain(name), plain(each)));
    return meant === undefined ? [] : { name, says: `is not read: did you mean ${meant}?` };
  });
}

export function warnOfSettings(log: Logger, notices: readonly SettingNotice[] = []): void {
  for (const { name, says } of notices) log.warn({ setting: name }, `${name} ${says}`);
}

const mostLettersOff = 2;
const lettersPerMistake = 5;

function isNear(given: string, known: string): boolean {
  const most = Math.min(mostLettersOff, Math.floor(known.length / lettersPerMistake));
  return Math.abs(given.length - known.length) <= most && editDistance(given, known) <= most;
}

function plain(name: string): string {
  return name.toUpperCase().replaceAll("_", "");
}
