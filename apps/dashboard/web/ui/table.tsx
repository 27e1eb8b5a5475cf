import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface TableProps {
  /** The table's accessible name. */
  name: string;
  /** Rows of 30 instead of 36 px. */
  isDense?: boolean;
  /** `<thead>` and `<tbody>`. Cells of numbers have the class `number`. */
  children: ComponentChildren;
}

/** A table in a frame that scrolls by itself where it is too wide, also by keyboard. */
export function Table({ name, isDense, children }: TableProps) {
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
      <table class={isDense ? "table is-dense" : "table"} aria-label={name}>
        {children}
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
