import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { classNames } from "./class-names.js";
import { Panel } from "./page.js";
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
};

export const actionsColumn = { text: "Actions", sign: "", class: "is-action" };

export function TableHead({ columns, isHidden }: { columns: readonly Head[]; isHidden?: boolean }) {
  return (
    <thead class={isHidden ? "sr-only" : undefined}>
      <tr>
        {columns.map(({ text, isNumber, sign }) => (
          <th key={text} scope="col" class={isNumber ? "number" : undefined}>
            {sign && <span aria-hidden="true">{sign}</span>}
            {sign === undefined ? text : <span class="sr-only">{text}</span>}
          </th>
        ))}
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
}

export function Table<Row extends object>({ name, isDense, isRoomy, ...rest }: TableProps<Row>) {
  return (
    <TableFrame name={name} isDense={isDense} isRoomy={isRoomy}>
      <TableRows {...rest} />
    </TableFrame>
  );
}

export function TablePanel<Row extends object>(table: TableProps<Row>) {
  return (
    <Panel title={table.name} isFlush>
      <Table {...table} />
    </Panel>
  );
}

type TableRowsProps<Row> = Omit<TableProps<Row>, "name" | "isDense" | "isRoomy">;

export function TableRows<Row extends object>(props: TableRowsProps<Row>) {
  const { rows, hasPlainRows, narrowPx = 0, keyOf = (row) => ("id" in row ? String(row.id) : "") } = props;
  const isNarrow = useNarrow(narrowPx);
  const columns = props.columns.filter(({ isWide }) => !(isWide && isNarrow));
  return (
    <>
      <TableHead columns={columns} />
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ text, isNumber, class: look, cell }, column) => {
              const isHead = column === 0 && !hasPlainRows;
              const Cell = isHead ? "th" : "td";
              return (
                <Cell key={text} scope={isHead ? "row" : undefined} class={classNames(isNumber && "number", look)}>
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
  children: ComponentChildren;
}

/** A table in a frame that scrolls by itself where it is too wide, also by keyboard. */
export function TableFrame({ name, isDense, isRoomy, children }: FrameProps) {
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
      <table class={classNames("table", isDense && "is-dense", isRoomy && "is-roomy")} aria-label={name}>
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
