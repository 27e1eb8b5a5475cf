import type { FunctionComponent } from "preact";
import { lazy } from "preact-iso";
import { Button } from "./ui/button.js";
import { Page } from "./ui/page.js";

/** A page that loads when it is first shown, or before by `preload`. */
export type Part = FunctionComponent & { preload(): Promise<unknown> };

/** A part of the app in a file of its own. After an update of the server the old file is gone, and a reload finds the new. */
export function part(load: () => Promise<FunctionComponent>): Part {
  return lazy(() => load().catch(() => MissingPart));
}

function MissingPart() {
  return (
    <Page title="This page did not load">
      <p>Waymark was updated, or the connection broke.</p>
      <p>
        <Button text="Reload" look="main" onClick={() => location.reload()} />
      </p>
    </Page>
  );
}
