import { Page } from "../ui/page.js";

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
