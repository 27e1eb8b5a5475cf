import { formatAgo, formatUtc } from "./format.js";

/** How long ago a time is; the exact time in UTC on hover. */
export function Ago({ iso, now = new Date() }: { iso: string; now?: Date }) {
  return (
    <time dateTime={iso} title={formatUtc(iso)}>
      {formatAgo(iso, now)}
    </time>
  );
}
