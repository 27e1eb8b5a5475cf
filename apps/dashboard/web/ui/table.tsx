import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { classNames } from "./class-names.js";
import { formatCount, formatThings } from "./format.js";
import { Panel } from "./page.js";
import { type Order, searchRows, sortRows } from "./table-rows.js";
import { useNarrow } from "./use-size.js";

export interface Head {
  text: string;
  /** Numbers stand at the end; their cells have the class `number`. */
  isNumber?: boolean;
  /** Shown in the text's place, which stays for screen readers; empty shows nothing. */
  sign?: string;
}

export type Column<Row> = Head & {
  class?: string;
  /** Left out below the table's `narrowPx`. */
  isWide?: boolean;
  cell(row: Row, isNarrow: boolean): ComponentChildren;
  /** The head sorts by it, numbers with the largest first; null is always last. */
  by?(row: Row): string | number | null | undefined;
};

export const actionsColumn = { text: "Actions", sign: "", class: "is-action" };

type Sorting = { order: Order | undefined; onSort(text: string): void };

interface HeadProps {
  columns: readonly (Head & { by?: unknown })[];
  isHidden?: boolean;
  sorting?: Sorting | undefined;
}

export function TableHead({ columns, isHidden, sorting }: HeadProps) {
  return (
    <thead class={isHidden ? "sr-only" : undefined}>
      <tr>
        {columns.map(({ text, isNumber, sign, by }) => {
          const isSorted = sorting?.order?.text === text;
          const sorted = isSorted && (sorting.order?.isDescending ? "descending" : "ascending");
          return (
            <th key={text} scope="col" class={isNumber ? "number" : undefined} aria-sort={sorted || undefined}>
              {sign && <span aria-hidden="true">{sign}</span>}
              {sign !== undefined && <span class="sr-only">{text}</span>}
              {sign === undefined && !(sorting && by) && text}
              {sorting && by && (
                <button type="button" class="inset sort" onClick={() => sorting.onSort(text)}>
                  {text}
                  <span aria-hidden="true">{sorted ? (sorted === "ascending" ? " ▲" : " ▼") : ""}</span>
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface TableProps<Row> {
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Unlike the row's `id`. */
  keyOf?(row: Row): string;
  /** Rows of 30 instead of 36 px. */
  isDense?: boolean | undefined;
  isRoomy?: boolean | undefined;
  /** Whether no cell names its row; else the first one does. */
  hasPlainRows?: boolean;
  narrowPx?: number;
  /** Whether each row is a card on a phone. */
  isCards?: boolean;
  /** A text of each row to search; the document has the first rows until somebody asks for more. */
  textOf?(row: Row): string;
}

const shownAtOnce = 25;
const shownMore = 100;
/** Fewer rows than this need no search. */
const searchedRows = 10;

export function Table<Row extends object>({ name, isDense, isRoomy, isCards, textOf, ...rest }: TableProps<Row>) {
  const { columns } = rest;
  const [order, setOrder] = useState<Order>();
  const [text, setText] = useState("");
  const [shown, setShown] = useState(textOf ? shownAtOnce : Number.POSITIVE_INFINITY);
  const found = textOf ? searchRows(rest.rows, text, textOf) : rest.rows;
  const by = columns.find((column) => column.text === order?.text)?.by;
  const rows = order && by ? sortRows(found, by, order.isDescending) : found;
  const onSort = (head: string) => {
    const sorted = columns.find((column) => column.text === head)?.by;
    const isNumber = rest.rows.some((row) => typeof sorted?.(row) === "number");
    setOrder({ text: head, isDescending: order?.text === head ? !order.isDescending : isNumber });
  };
  return (
    <>
      {textOf && rest.rows.length > searchedRows && (
        <div class="row table-search">
          <input
            class="input"
            type="search"
            aria-label={`Search ${name.toLowerCase()}`}
            placeholder="Search"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <span class="soft" role="status">
            {text.trim() && formatThings(found.length, "match", "matches")}
          </span>
        </div>
      )}
      <TableFrame name={name} isDense={isDense} isRoomy={isRoomy} isCards={isCards}>
        <TableRows
          {...rest}
          rows={rows.slice(0, shown)}
          sorting={columns.some((each) => each.by) ? { order, onSort } : undefined}
        />
      </TableFrame>
      {rows.length > shown && (
        <button type="button" class="pager" onClick={() => setShown(shown + shownMore)}>
          Show more of {formatCount(rows.length)}
        </button>
      )}
    </>
  );
}

export function TablePanel<Row extends object>(table: TableProps<Row>) {
  return (
    <Panel title={table.name} isFlush>
      <Table {...table} />
    </Panel>
  );
}

type TableRowsProps<Row> = Pick<TableProps<Row>, "columns" | "rows" | "keyOf" | "hasPlainRows" | "narrowPx"> &
  Pick<HeadProps, "sorting">;

export function TableRows<Row extends object>(props: TableRowsProps<Row>) {
  const { rows, hasPlainRows, narrowPx = 0, keyOf = (row) => ("id" in row ? String(row.id) : "") } = props;
  const isNarrow = useNarrow(narrowPx);
  const columns = props.columns.filter(({ isWide }) => !(isWide && isNarrow));
  return (
    <>
      <TableHead columns={columns} sorting={props.sorting} />
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ text, isNumber, class: look, cell }, column) => {
              const isHead = column === 0 && !hasPlainRows;
              const Cell = isHead ? "th" : "td";
              return (
                <Cell
                  key={text}
                  scope={isHead ? "row" : undefined}
                  class={classNames(isNumber && "number", look)}
                  data-label={isHead ? undefined : text}
                >
                  {cell(row, isNarrow)}
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </>
  );
}

interface FrameProps extends Pick<TableProps<never>, "name" | "isDense" | "isRoomy"> {
  isCards?: boolean | undefined;
  children: ComponentChildren;
}

/** A table in a frame that scrolls by itself where it is too wide, also by keyboard. */
export function TableFrame({ name, isDense, isRoomy, isCards, children }: FrameProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWide(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="table-frame" ref={frame} {...(isWide ? { tabIndex: 0, role: "group", "aria-label": name } : {})}>
      <table
        class={classNames("table", isDense && "is-dense", isRoomy && "is-roomy", isCards && "is-cards")}
        aria-label={name}
      >
        {children}
      </table>
    </div>
  );
}

/** A cell's text with a softer line below it, in a column of the class `is-stacked`. */
export function Stacked({ below, children }: { below: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      {children}
      {below && <span class="soft">{below}</span>}
    </>
  );
}

/** The end of a list of which more can be loaded: it does so when it comes in sight. */
export function Pager({ hasMore, isLoading, more }: { hasMore: boolean; isLoading: boolean; more(): void }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(more);
  latest.current = more;
  useEffect(() => {
    const element = button.current;
    if (!element || isLoading) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && latest.current(), {
      rootMargin: "300px",
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasMore, isLoading]);
  if (!hasMore) return null;
  return (
    <button ref={button} type="button" class="pager" aria-disabled={isLoading} onClick={() => !isLoading && more()}>
      {isLoading ? "Loading more" : "Show more"}
    </button>
  );
}
