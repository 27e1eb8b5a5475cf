import { formatAgo, formatMoment, formatMomentDay, formatUtc } from "./format.js";

export function Ago({ iso, now = new Date() }: { iso: string; now?: Date }) {
  return <Time iso={iso} text={formatAgo(iso, now)} />;
}

export function Moment({ iso }: { iso: string }) {
  return <Time iso={iso} text={formatMoment(iso)} />;
}

export function MomentDay({ iso }: { iso: string }) {
  return <Time iso={iso} text={formatMomentDay(iso)} />;
}

function Time({ iso, text }: { iso: string; text: string }) {
  const [own, utc] = [formatMoment(iso), formatUtc(iso)];
  return (
    <time dateTime={iso} title={own === utc ? utc : `${own}, ${utc}`}>
      {text}
      {text !== utc && <span class="sr-only">, {utc}</span>}
    </time>
  );
}
