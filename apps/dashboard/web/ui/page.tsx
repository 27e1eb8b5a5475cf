import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { ApiError } from "../data/api.js";
import type { QueryState } from "../data/query.js";
import { Button } from "./button.js";
import { Icon } from "./icon.js";

interface PageProps {
  title: string;
  aside?: ComponentChildren;
  note?: ComponentChildren;
  crumbs?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** The page of a path: title, heading, actions. The heading gets the focus when a navigation leads here. */
export function Page({ title, aside, note, crumbs, actions, children }: PageProps) {
  const heading = usePageHeading(title);
  return (
    <div class="page">
      <header class="row page-head">
        <div class="page-heading">
          {crumbs && <p class="crumbs">{crumbs}</p>}
          <div class="row page-title">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {aside}
          </div>
          {note && <p class="note">{note}</p>}
        </div>
        {actions && <div class="row page-actions">{actions}</div>}
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

interface PanelProps {
  /** Names the region; without it the panel is only a frame. */
  title?: string;
  actions?: ComponentChildren;
  /** Whether the content reaches the border, such as a table. */
  isFlush?: boolean;
  children?: ComponentChildren;
}

export function Panel({ title, actions, isFlush, children }: PanelProps) {
  const id = useId();
  if (title === undefined) return <div class={isFlush ? "panel is-flush" : "panel"}>{children}</div>;
  return (
    <section class={isFlush ? "panel is-flush" : "panel"} aria-labelledby={id}>
      <header class="row panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      <div class="panel-body">{children}</div>
    </section>
  );
}

type State = "success" | "error" | "timeout" | "running";

const words: Readonly<Record<State, string>> = {
  success: "Success",
  error: "Error",
  timeout: "Timeout",
  running: "Running",
};

/** A state as a dot and its word; only success is without a ground. */
export function StatusDot({ state, children }: { state: State; children?: ComponentChildren }) {
  return <span class={`status is-${state}`}>{children ?? words[state]}</span>;
}

export function Figure({ label, value, tone }: { label: string; value: ComponentChildren; tone?: "error" }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class={tone && `is-${tone}`}>{value}</dd>
    </div>
  );
}

export function Meter({ current, limit }: { current: number; limit: number }) {
  const share = Math.min(1, current / limit);
  return (
    <div class="meter" aria-hidden="true">
      <div class={share >= 0.8 ? "is-high" : undefined} style={{ width: `${share * 100}%` }} />
    </div>
  );
}

export function Empty({
  title,
  text,
  children,
}: {
  title: string;
  text?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {children}
    </div>
  );
}

const skeletonDelayMs = 150;

/** Grey bars in the place of what loads. Quick answers never show it. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), skeletonDelayMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={isLate ? "skeleton is-late" : "skeleton"} aria-busy="true">
      <span class="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} />
      ))}
    </div>
  );
}

export function ErrorNote({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  const text = error.isAway ? "Waiting for Waymark to answer." : error.message;
  return (
    <div class="row banner is-error error-note" role="alert">
      <Icon name="warning" />
      <p>{text}</p>
      {onRetry && !error.isAway && <Button text="Try again" onClick={onRetry} />}
    </div>
  );
}

interface LoadedProps<Data> {
  of: QueryState<Data>;
  rows?: number;
  children(data: Data): ComponentChildren;
}

export function Loaded<Data>({ of: { data, error, isLoading, refetch }, rows, children }: LoadedProps<Data>) {
  if (data !== undefined) return <>{children(data)}</>;
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  return isLoading ? <Skeleton {...(rows && { rows })} /> : null;
}

/** One line across the page. `alert` for something that stops work, else it is only worth knowing. */
export function Banner({
  tone = "note",
  children,
}: {
  tone?: "note" | "warning" | "error";
  children: ComponentChildren;
}) {
  return (
    <div class={`row banner is-${tone}`} role={tone === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

export function ActionError({ of: { error } }: { of: { error: ApiError | undefined } }) {
  return error ? <Banner tone="error">{error.message}</Banner> : null;
}

/** The page of an unknown path. Pages show it for an id that is not the account's, too. */
export function MissingPage({ title = "Page not found", reason }: { title?: string; reason?: string }) {
  return (
    <Page title={title}>
      <p>{reason ?? "No page has this address."}</p>
      <p>
        <a href="/dashboard/">Back to the start</a>
      </p>
    </Page>
  );
}
