import "./sites.css";
import { useState } from "preact/hooks";
import type { ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { formatDay } from "../ui/format.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { Empty, ErrorNote, Skeleton, StatusDot } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";
import { SiteDialog } from "./site-dialog.js";

export function SitesPage() {
  const list = useQuery<SiteList>("/sites", { pollMs: 10_000 });
  const [isAdding, setAdding] = useState(false);
  const actions = (
    <Button look="main" icon="plus" onClick={() => setAdding(true)}>
      Add site
    </Button>
  );
  const sites = list.data?.sites;
  return (
    <Page title="Sites" actions={actions}>
      {list.error && !sites && <ErrorNote error={list.error} onRetry={list.refetch} />}
      {list.isLoading && <Skeleton rows={3} />}
      {sites?.length === 0 && (
        <Panel>
          <Empty title="No sites yet">
            <p>Add a site, paste its snippet into the pages, and its visits appear here. No cookies, no banner.</p>
          </Empty>
        </Panel>
      )}
      {sites && sites.length > 0 && <SiteTable sites={sites} />}
      {isAdding && <SiteDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}

function SiteTable({ sites }: { sites: readonly ListedSite[] }) {
  return (
    <Panel isFlush>
      <Table name="Sites" columns={["Site", "First seen (UTC)", "Last visit (UTC)", actionsColumn]}>
        <tbody>
          {sites.map((site) => (
            <tr key={site.id}>
              <th scope="row" class="is-stacked">
                <a href={`/dashboard/sites/${site.id}`}>{site.name}</a>
                <span class="soft">{site.domain}</span>
              </th>
              <td>
                <FirstSeen site={site} />
              </td>
              <td>{site.lastDay && formatDay(site.lastDay)}</td>
              <td class="is-action">
                <a href={`/dashboard/sites/${site.id}/settings`} aria-label={`Settings of ${site.name}`}>
                  Settings
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Panel>
  );
}

function FirstSeen({ site }: { site: ListedSite }) {
  if (site.isWaiting) return <StatusDot state="timeout">Domain not proven</StatusDot>;
  if (site.firstDay) return <>{formatDay(site.firstDay)}</>;
  return <StatusDot state="running">Waiting for the first visit</StatusDot>;
}
