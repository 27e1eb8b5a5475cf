import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  /** Names the region; without it the panel is only a frame. */
  title?: string;
  actions?: ComponentChildren;
  /** Whether the content reaches the border, such as a table. */
  isFlush?: boolean;
  children?: ComponentChildren;
}

/** A card: a region named by its heading 2. */
export function Panel({ title, actions, isFlush, children }: PanelProps) {
  const id = useId();
  if (title === undefined) return <div class={isFlush ? "panel is-flush" : "panel"}>{children}</div>;
  return (
    <section class={isFlush ? "panel is-flush" : "panel"} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      <div class="panel-body">{children}</div>
    </section>
  );
}
