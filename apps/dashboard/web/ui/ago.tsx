import { formatAgo, formatMoment, formatMomentDay, formatUtc } from "./format.js";

interface MomentProps {
  iso: string;
}

export function Ago({ iso, now = new Date() }: MomentProps & { now?: Date }) {
  return <Time iso={iso} text={formatAgo(iso, now)} />;
}

export function Moment({ iso }: MomentProps) {
  return <Time iso={iso} text={formatMoment(iso)} />;
}

export function MomentDay({ iso }: MomentProps) {
  return <Time iso={iso} text={formatMomentDay(iso)} />;
}

/** A moment in the person's zone, exact and in UTC on hover and for screen readers. */
function Time({ iso, text }: MomentProps & { text: string }) {
  const [own, utc] = [formatMoment(iso), formatUtc(iso)];
  return (
    <time dateTime={iso} title={own === utc ? utc : `${own}, ${utc}`}>
      {text}
      {text !== utc && <span class="sr-only">, {utc}</span>}
    </time>
  );
}
