import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A column's head: its text, or more where the column is unlike text. */
export type Column =
  | string
  | {
      text: string;
      /** Numbers stand at the end; their cells have the class `number`. */
      isNumber?: boolean;
      /** Shown in the text's place, which stays for screen readers; empty shows nothing. */
      sign?: string;
    };

/** The head of a column of buttons or links. */
export const actionsColumn: Column = { text: "Actions", sign: "" };

export function TableHead({ columns, isHidden }: { columns: readonly Column[]; isHidden?: boolean }) {
  return (
    <thead class={isHidden ? "sr-only" : undefined}>
      <tr>
        {columns.map((column, at) => {
          const { text, isNumber = false, sign = undefined } = typeof column === "string" ? { text: column } : column;
          return (
            <th key={`${at} ${text}`} scope="col" class={isNumber ? "number" : undefined}>
              {sign === undefined ? (
                text
              ) : (
                <>
                  {sign && <span aria-hidden="true">{sign}</span>}
                  <span class="sr-only">{text}</span>
                </>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface TableProps {
  name: string;
  columns: readonly Column[];
  /** Rows of 30 instead of 36 px. */
  isDense?: boolean;
  /** Space above and below the lines of a cell. */
  isRoomy?: boolean;
  /** Whether the children are groups of rows, each a `<tbody>`. */
  hasGroups?: boolean;
  children: ComponentChildren;
}

/** A table in a frame that scrolls by itself where it is too wide, also by keyboard. */
export function Table({ name, columns, isDense, isRoomy, hasGroups, children }: TableProps) {
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
        class={["table", isDense && "is-dense", isRoomy && "is-roomy"].filter(Boolean).join(" ")}
        aria-label={name}
      >
        <TableHead columns={columns} />
        {hasGroups ? children : <tbody>{children}</tbody>}
      </table>
    </div>
  );
}

/** The end of a list of which more can be loaded: it does so when it comes in sight. */
export function Pager({ isLoading, onMore }: { isLoading: boolean; onMore(): void }) {
  const button = useRef<HTMLButtonElement>(null);
  const more = useRef(onMore);
  more.current = onMore;
  useEffect(() => {
    const element = button.current;
    if (!element || isLoading) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && more.current(), {
      rootMargin: "300px",
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isLoading]);
  return (
    <button ref={button} type="button" class="pager" aria-disabled={isLoading} onClick={() => !isLoading && onMore()}>
      {isLoading ? "Loading more" : "Show more"}
    </button>
  );
}
