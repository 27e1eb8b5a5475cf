import type { ContentName, SpanContents } from "@waymark/traces";
import type { ComponentChildren, Ref } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type QueryState, useQuery } from "../data/query.js";
import { CutNote } from "../trace/content-view.js";
import { KindIcon } from "../trace/icons.js";
import { rootOf, stringOf } from "../trace/json.js";
import { LongText } from "../trace/json-view.js";
import { contentNames, type Span } from "../trace/spans.js";
import { formatCount } from "../ui/format.js";
import { ErrorNote, Skeleton } from "../ui/page.js";
import { useSettled } from "../ui/use-settled.js";
import type { Difference, Pair } from "./align.js";
import { compareTexts, type Piece } from "./texts.js";
import { timeOf, wordsOf } from "./words.js";

interface DetailsProps {
  ids: readonly [left: string, right: string];
  pair: Pair;
  section: Ref<HTMLElement>;
}

/** The selected row: both spans, and their contents with what differs marked. */
export function CompareDetails({ ids, pair, section }: DetailsProps) {
  const { left, right } = pair;
  const span = left ?? right;
  const words = wordsOf(pair).join(", ");
  const sides = [useContents(ids[0], left), useContents(ids[1], right)] as const;
  const shown = contentNames.filter((name) => left?.has[name] || right?.has[name]);
  if (!span) return null;
  return (
    <section ref={section} class="panel compare-details" aria-label="Span details" tabIndex={-1}>
      <h2>
        <KindIcon kind={span.kind} isFailed={span.isFailed} /> {span.name || "(no name)"}
      </h2>
      <p class="soft">{words ? `Differs: ${words}` : "The same in both runs"}</p>
      <div class="compare-sides">
        {[left, right].map((span, side) => (
          <SpanFacts key={side} label={labels[side]} id={ids[side]} span={span} differs={pair.differs} />
        ))}
      </div>
      {order.map(
        (name) => shown.includes(name) && <Content key={`${span.id} ${name}`} name={name} sides={sides} pair={pair} />,
      )}
    </section>
  );
}

const labels = ["This run", "Other run"] as const;
const order = ["error", ...contentNames.filter((name) => name !== "error")] as const;

interface Contents extends QueryState<SpanContents> {
  path: string;
}

function useContents(traceId: string, span: Span | undefined): Contents {
  const hasAny = span && contentNames.some((name) => span.has[name]);
  const path = `/traces/${traceId}/spans/${span?.id}`;
  const isAsked = useSettled(path) === path;
  return {
    path,
    ...useQuery<SpanContents>(hasAny && isAsked ? path : undefined, { staleMs: Number.POSITIVE_INFINITY }),
  };
}

interface FactsProps {
  label: string | undefined;
  id: string | undefined;
  span: Span | undefined;
  differs: readonly Difference[];
}

function SpanFacts({ label, id, span, differs }: FactsProps) {
  if (!span) return <p class="soft">{label}: no such span</p>;
  const marked = (name: Difference, text: ComponentChildren) => (differs.includes(name) ? <mark>{text}</mark> : text);
  return (
    <p>
      <a href={`/dashboard/traces/${id}?span=${span.id}`}>{label}</a>:{" "}
      {differs.includes("name") && <>{marked("name", span.name)}, </>}
      {span.isFailed ? marked("status", "failed") : "ok"}, {marked("time", timeOf(span))}
      {span.model && <>, {marked("model", span.model)}</>}
    </p>
  );
}

interface ContentProps {
  name: ContentName;
  sides: readonly [Contents, Contents];
  pair: Pair;
}

function Content({ name, sides, pair: { left, right } }: ContentProps) {
  const [text, otherText] = sides.map(({ data }) => plainOf(data?.[name]));
  const pieces = useMemo(() => {
    return text === undefined || otherText === undefined ? [] : compareTexts(text, otherText);
  }, [text, otherText]);
  const failed = sides.find(({ error, data }) => error && !data);
  const isWaiting = [left, right].some((span, side) => span?.has[name] && !sides[side]?.data);
  const isSame = text !== undefined && text === otherText && !sides.some(({ data }) => data?.cut[name]);
  if (failed?.error) return <ErrorNote error={failed.error} onRetry={failed.refetch} />;
  const sideOf = (side: 0 | 1) => {
    const span = [left, right][side];
    const { data, path } = sides[side];
    if (!span) return <p class="note">No such span.</p>;
    if (!span.has[name] || !data) return <p class="note">No {name} was sent.</p>;
    const own = plainOf(data[name]) ?? "";
    return (
      <>
        {data.cut[name] && <CutNote name={name} text={own} cutBytes={data.cut[name]} path={path} />}
        <pre class="as-sent">{pieces[side] ? <Pieces pieces={pieces[side]} /> : <LongText text={own} />}</pre>
      </>
    );
  };
  return (
    <>
      <h3>
        {name.charAt(0).toUpperCase() + name.slice(1)}
        {isSame && <span class="soft"> is the same</span>}
      </h3>
      {isWaiting ? (
        <Skeleton rows={3} />
      ) : isSame ? (
        sideOf(0)
      ) : (
        <div class="compare-sides">
          {([0, 1] as const).map((side) => (
            <div key={side}>
              <p class="note">{labels[side]}</p>
              {sideOf(side)}
            </div>
          ))}
        </div>
      )}
    </>
  );
}

/** A text as it was sent, a JSON string as what it says. */
const plainOf = (text: string | null | undefined) => (text ? (stringOf(text, rootOf(text)) ?? text) : undefined);

/** Characters of a same piece beside a difference. */
const around = 200;

function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map(({ text, isSame }, at) =>
        isSame ? (
          <SameText key={at} text={text} isFirst={at === 0} isLast={at === pieces.length - 1} />
        ) : (
          <mark key={at}>
            <LongText text={text} />
          </mark>
        ),
      )}
    </>
  );
}

function SameText({ text, isFirst, isLast }: { text: string; isFirst: boolean; isLast: boolean }) {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= 3 * around) return <LongText text={text} />;
  const [head, tail] = [isFirst && !isLast ? 0 : around, isLast ? 0 : around];
  return (
    <>
      {text.slice(0, head)}
      <button type="button" class="json-more" onClick={() => setWhole(true)}>
        … {formatCount(text.length - head - tail)} same characters …
      </button>
      {text.slice(text.length - tail)}
    </>
  );
}
