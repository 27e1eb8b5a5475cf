import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../data/api.js";
import { Button } from "./button.js";
import { Icon } from "./icon.js";

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

/** Nothing to show, and the way on. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
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

/** Why a page has nothing to show, with another try. */
export function ErrorNote({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  const text = error.isAway ? "Waiting for Waymark to answer." : error.message;
  return (
    <div class="error-note" role="alert">
      <Icon name="warning" />
      <p>{text}</p>
      {onRetry && !error.isAway && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
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
    <div class={`banner is-${tone}`} role={tone === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}
