import { MissingPage, Page } from "../ui/page.js";
import type { Source } from "./address.js";

export function MissingSite({ source }: { source: Source }) {
  return source.siteId === undefined ? <MissingLink /> : <MissingPage title="Site not found" />;
}

/** The page of every link that opens nothing. */
export function MissingLink() {
  return (
    <Page title="This link does not work">
      <p>It has ended, was revoked, or is incomplete. Ask for a new one where you got it.</p>
    </Page>
  );
}
