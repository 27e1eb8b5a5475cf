import type { ComponentChildren } from "preact";
import { Brand } from "../shell/brand.js";
import { usePageHeading } from "../ui/page.js";

/** The frame of the pages before a session: one card. */
export function EntryCard({ title, children }: { title: string; children: ComponentChildren }) {
  const heading = usePageHeading(title);
  return (
    <div class="entry">
      <Brand />
      <div class="panel entry-card">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
      </div>
    </div>
  );
}
