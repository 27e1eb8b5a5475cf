import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useRoute } from "preact-iso";

interface PageProps {
  /** Heading 1, and the tab's title. */
  title: string;
  /** Beside the heading: a state, a count. */
  aside?: ComponentChildren;
  /** A line below the heading. */
  note?: ComponentChildren;
  /** Above the heading: the way back. */
  crumbs?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** The page of a path: title, heading, actions. The heading gets the focus when a navigation leads here. */
export function Page({ title, aside, note, crumbs, actions, children }: PageProps) {
  const heading = usePageHeading(title);
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-heading">
          {crumbs && <p class="crumbs">{crumbs}</p>}
          <div class="page-title">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {aside}
          </div>
          {note && <p class="note">{note}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

let focusedPath: string | undefined;

/** For pages with a head of their own: the tab's title, and the ref of a heading 1 with `tabIndex={-1}`. */
export function usePageHeading(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = useRoute();
  useLayoutEffect(() => {
    document.title = title === "" ? "Waymark" : `${title} · Waymark`;
  }, [title]);
  useLayoutEffect(() => {
    if (focusedPath !== undefined && focusedPath !== path) heading.current?.focus({ preventScroll: true });
    focusedPath = path;
  }, [path]);
  return heading;
}
