import type { OutlineTrace } from "@waymark/traces";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { readAddress, writeAddress } from "../trace/address.js";
import { HelpDialog } from "../trace/help-dialog.js";
import { isAtTree, moveOnPage } from "../trace/keys.js";
import { memo } from "../trace/memo.js";
import { MissingTrace } from "../trace/missing-trace.js";
import type { Node } from "../trace/tree.js";
import { TreeRow, type TreeRowProps, TreeRows } from "../trace/tree-rows.js";
import { useOutline } from "../trace/use-outline.js";
import { nextOf, useRows } from "../trace/use-rows.js";
import { Moment } from "../ui/ago.js";
import { classNames } from "../ui/class-names.js";
import { formatDuration, formatThings } from "../ui/format.js";
import { ErrorNote, Page, Skeleton, StatusDot } from "../ui/page.js";
import { useKeys } from "../ui/use-keys.js";
import type { Alignment, Pair } from "./align.js";
import { CompareDetails } from "./compare-details.js";
import "./compare.css";
import { useAlignment } from "./use-alignment.js";
import { timeOf, wordsOf } from "./words.js";

export function ComparePage() {
  const { id = "", other = "" } = useRoute().params;
  return <Runs key={`${id} ${other}`} id={id} other={other} />;
}

function Runs({ id, other }: { id: string; other: string }) {
  const sides = [useOutline(`/traces/${id}`, "digests"), useOutline(`/traces/${other}`, "digests")] as const;
  const [left, right] = sides;
  const failed = sides.find(({ error }) => error);
  const isReady = sides.every(({ trace, isPartial }) => trace && !isPartial);
  const alignment = useAlignment(left.tree, right.tree, isReady);
  if (failed?.error?.status === 404) return <MissingTrace />;
  const title = left.trace ? `What changed in ${left.trace.name || "(no name)"}` : "What changed";
  const spans = left.tree.nodes.length + right.tree.nodes.length;
  return (
    <Page title={title} crumbs={<a href="/dashboard/traces">Traces</a>}>
      {failed?.error && <ErrorNote error={failed.error} onRetry={failed.refetch} />}
      {left.trace && right.trace && (
        <div class="compare-runs">
          <Run label="This run" trace={left.trace} />
          <Run label="Other run" trace={right.trace} />
        </div>
      )}
      {alignment && left.trace && right.trace ? (
        <Comparison alignment={alignment} ids={[left.trace.id, right.trace.id]} />
      ) : (
        !failed?.error && (
          <>
            {spans > 0 && <p class="note">{formatThings(spans, "span")} so far</p>}
            <Skeleton rows={12} />
          </>
        )
      )}
    </Page>
  );
}

function Run({ label, trace }: { label: string; trace: OutlineTrace }) {
  const { id, name, status, started_at: start, ended_at: end } = trace;
  return (
    <section class="panel" aria-label={label}>
      <p class="row">
        <span class="soft">{label}</span> <StatusDot state={status} />
      </p>
      <a href={`/dashboard/traces/${id}`}>
        <bdi>{name || "(no name)"}</bdi>
      </a>
      <p class="soft">
        <Moment iso={start} />
        {end && `, ${formatDuration(Date.parse(end) - Date.parse(start))}`}
      </p>
    </section>
  );
}

interface ComparisonProps {
  alignment: Alignment;
  ids: readonly [left: string, right: string];
}

function Comparison({ alignment, ids }: ComparisonProps) {
  const { tree, pairs, causes } = alignment;
  const [start] = useState(() => readAddress().span);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const details = useRef<HTMLElement>(null);
  const view = useRows(tree, { start, first: causes[0]?.span.id });
  const { selected, selectedId, closed } = view;
  useEffect(() => writeAddress(ids[1], { span: selectedId, find: "", zoom: undefined }), [selectedId]);
  const next = () => view.select(nextOf(causes, selected, 1));
  const own: Readonly<Record<string, () => unknown>> = {
    n: next,
    "?": () => setHelpOpen(true),
    Escape: () => document.querySelector<HTMLElement>("[role=tree]")?.focus({ preventScroll: true }),
  };
  useKeys(({ key, target }) => {
    const act = key === "Enter" && isAtTree(target) ? () => details.current?.focus() : own[key];
    act?.();
    return act !== undefined || moveOnPage(key, target, view);
  });
  const pair = selected && pairs.get(selected.span.id);
  if (!selected || !pair) return <p class="panel">Neither run has spans.</p>;
  const rowOf = (node: Node, top: number) => (
    <CompareRow
      key={node.span.id}
      node={node}
      pair={pairs.get(node.span.id) ?? pair}
      top={top}
      isSelected={node === selected}
      isClosed={closed.has(node.span.id)}
      onSelect={view.select}
      onToggle={view.setOpen}
    />
  );
  return (
    <div class="trace-view">
      <Summary alignment={alignment} onNext={next} />
      <div class="panel is-flush compare-tree" style={{ "--rows": view.rows.length }}>
        <div class="tree-axis compare-columns" aria-hidden="true">
          <span>Span</span>
          <span class="number">This</span>
          <span class="number">Other</span>
          <span>Differs</span>
        </div>
        <TreeRows view={view} label="Spans of both runs" rowOf={rowOf} />
      </div>
      <CompareDetails ids={ids} pair={pair} section={details} />
      {isHelpOpen && <HelpDialog keys={keys} onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

const keys = [
  ["↑ ↓ or K J", "previous and next span"],
  ["← → or H L", "close and open, to the parent and the first child"],
  ["N", "next difference"],
  ["Enter, Esc", "to the span's details, and back"],
  ["?", "this help"],
] as const;

function Summary({ alignment: { pairs, causes, unread }, onNext }: { alignment: Alignment; onNext(): void }) {
  const text = useMemo(() => {
    const all = [...pairs.values()];
    const [here, there] = [all.filter(({ right }) => !right).length, all.filter(({ left }) => !left).length];
    const same = all.length - here - there;
    const sides = [here && `${here} only in this run`, there && `${there} only in the other`].filter(Boolean);
    return [`${formatThings(same, "span")} in both runs`, ...sides].join(", ");
  }, [pairs]);
  return (
    <div class="row compare-summary">
      {causes.length > 0 && (
        <button type="button" class="button" onClick={onNext}>
          Next difference
          <span class="kbd" aria-hidden="true">
            N
          </span>
        </button>
      )}
      <p>
        {text}. {formatThings(causes.length, "difference")}.
        {unread > 0 && ` ${formatThings(unread, "span has", "spans have")} large contents: open one to compare them.`}
      </p>
    </div>
  );
}

const CompareRow = memo(({ pair, ...row }: TreeRowProps & { pair: Pair }) => {
  const { left, right, isCause } = pair;
  const words = wordsOf(pair).join(", ");
  const times = [timeOf(left), timeOf(right)];
  return (
    <TreeRow
      {...row}
      class={classNames("compare-columns", left?.isFailed && "is-failed")}
      description={[words ? `differs: ${words}` : "the same", times.join(" and ")]}
    >
      {times.map((time, side) => (
        <span key={side} class="number span-time drawn" data-text={time} />
      ))}
      <span class="compare-differs cut">
        {words && <span class={classNames("drawn", isCause && "is-cause")} data-text={words} />}
      </span>
    </TreeRow>
  );
});
