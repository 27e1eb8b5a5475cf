import { plans } from "@waymark/plan";
import { useMe } from "../data/query.js";
import { Page } from "../ui/page.js";

export function MissingTrace() {
  const { data } = useMe();
  const days = data && plans[data.account.plan].retentionDays;
  return (
    <Page title="Trace not found" crumbs={<a href="/dashboard/traces">Traces</a>}>
      <p>It was deleted, is past retention{days ? ` (${days} days on your plan)` : ""}, or is another account's.</p>
      <p>
        <a href="/dashboard/traces">All traces</a>
      </p>
    </Page>
  );
}
