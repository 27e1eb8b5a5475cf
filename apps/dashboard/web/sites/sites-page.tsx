import "./sites.css";
import { useState } from "preact/hooks";
import type { CreateSiteBody, ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { FormDialog, TextField, useTexts } from "../ui/form.js";
import { formatDay } from "../ui/format.js";
import { Empty, Page, Panel, StatusDot, Waiting } from "../ui/page.js";
import { actionsColumn, Table } from "../ui/table.js";
import { ProofSteps, Snippet, WaitingForVisit } from "./site-setup.js";

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
      <Waiting of={list} rows={3} />
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
      </Table>
    </Panel>
  );
}

function FirstSeen({ site }: { site: ListedSite }) {
  if (site.isWaiting) return <StatusDot state="timeout">Domain not proven</StatusDot>;
  if (site.firstDay) return <>{formatDay(site.firstDay)}</>;
  return <StatusDot state="running">Waiting for the first visit</StatusDot>;
}

/** Asks for domain and name, then shows the snippet and waits for the first visit. */
function SiteDialog({ onClose }: { onClose(): void }) {
  const [created, setCreated] = useState<ListedSite>();
  return created ? (
    <NewSite created={created} onClose={onClose} />
  ) : (
    <SiteForm onCreated={setCreated} onClose={onClose} />
  );
}

function SiteForm({ onCreated, onClose }: { onCreated(site: ListedSite): void; onClose(): void }) {
  const { texts, field } = useTexts({ domain: "", name: "" }, "domain");
  const create = useAction((body: CreateSiteBody) => api.post<ListedSite>("/sites", body), {
    invalidates: ["/sites"],
    onDone: onCreated,
  });
  const submit = () => create.run({ ...texts, name: texts.name.trim() === "" ? texts.domain : texts.name });
  return (
    <FormDialog title="Add a site" verb="Add" action={create} onSubmit={submit} onClose={onClose}>
      <TextField
        label="Domain"
        required
        autocomplete="off"
        placeholder="example.com"
        {...field("domain", create.error)}
      />
      <TextField
        label="Name"
        maxlength={200}
        autocomplete="off"
        hint="In lists; its domain when empty."
        {...field("name", create.error)}
      />
    </FormDialog>
  );
}

function NewSite({ created, onClose }: { created: ListedSite; onClose(): void }) {
  const { data } = useQuery<SiteList>("/sites");
  const site = data?.sites.find(({ id }) => id === created.id) ?? created;
  const actions = (
    <Button look="main" onClick={onClose}>
      Done
    </Button>
  );
  return (
    <Dialog title={site.name} onClose={onClose} actions={actions}>
      <Snippet domain={site.domain} />
      {site.isWaiting && site.proof ? (
        <ProofSteps site={site} proof={site.proof} />
      ) : (
        <WaitingForVisit siteId={site.id} />
      )}
    </Dialog>
  );
}
