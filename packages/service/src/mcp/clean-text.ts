/** Escapes of JSON, of which some are hidden, and characters that are hidden or reorder others; not line feed and tab. */
const hidden = /\\(?:u[0-9a-fA-F]{4}|[^u])|[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029\u{E0000}-\u{E007F}]/gu;
const unseen = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/u;
const escapes: Readonly<Record<string, true>> = { "\\b": true, "\\f": true, "\\r": true };

/** JSON without hidden characters, raw or as escapes; it stays JSON. */
export function cleanJson(text: string): string {
  return text.replace(hidden, (found) => {
    if (!found.startsWith("\\")) return "";
    if (found.length === 2) return escapes[found] ? "" : found;
    return unseen.test(String.fromCharCode(Number.parseInt(found.slice(2), 16))) ? "" : found;
  });
}

const units = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A time as people tell it, such as `3 hours ago`. */
export function relativeTime(time: string, now: Date): string {
  const seconds = Math.round((now.getTime() - Date.parse(time)) / 1_000);
  const [unit, length] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ["second", 1];
  const count = Math.floor(Math.abs(seconds) / length);
  if (count === 0 || Number.isNaN(count)) return "now";
  const text = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** Within a text of JSON, quotes have a backslash: only members match. */
const timeMember = /"(\w{1,40})_at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+Z)"/g;

/** JSON with relative times beside exact ones: `started_ago` after `started_at`. */
export function withRelativeTimes(json: string, now: Date): string {
  return json.replace(timeMember, (member, name, time) => `${member},"${name}_ago":"${relativeTime(time, now)}"`);
}
