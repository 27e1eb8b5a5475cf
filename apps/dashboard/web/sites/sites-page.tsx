import "./sites.css";
import type { CreateSiteBody, ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useMayChange, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { Dialog, DialogButton } from "../ui/dialog.js";
import { FormDialog, TextField, useForm } from "../ui/form.js";
import { formatDay } from "../ui/format.js";
import { Empty, Loaded, Page, Panel, StatusDot } from "../ui/page.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";
import { siteColumn } from "./site-column.js";
import { ProofSteps, Snippet, WaitingForVisit } from "./site-setup.js";

export function SitesPage() {
  const list = useQuery<SiteList>("/sites", { pollMs: 10_000 });
  const add = useMayChange() && (
    <DialogButton text="Add site" look="main" icon="plus" dialog={(close) => <SiteDialog onClose={close} />} />
  );
  return (
    <Page title="Sites" actions={add}>
      <Loaded of={list} rows={3}>
        {({ sites }) => (
          <Panel isFlush={sites.length > 0}>
            {sites.length > 0 ? <Table isCards name="Sites" columns={columns} rows={sites} textOf={textOf} /> : noSites}
          </Panel>
        )}
      </Loaded>
    </Page>
  );
}

const noSites = (
  <Empty
    title="No sites yet"
    text="Add a site, paste its snippet into the pages, and its visits appear here. No cookies, no banner."
  />
);

const textOf = ({ name, domain }: ListedSite) => `${name} ${domain}`;

const columns: readonly Column<ListedSite>[] = [
  siteColumn,
  { text: "First seen (UTC)", by: ({ firstDay }) => firstDay, cell: (site) => <FirstSeen site={site} /> },
  { text: "Last visit (UTC)", by: ({ lastDay }) => lastDay, cell: ({ lastDay }) => lastDay && formatDay(lastDay) },
  {
    ...actionsColumn,
    cell: ({ id, name }) => (
      <a href={`/dashboard/sites/${id}/settings`} aria-label={`Settings of ${name}`}>
        Settings
      </a>
    ),
  },
];

function FirstSeen({ site }: { site: ListedSite }) {
  if (site.isWaiting) return <StatusDot state="timeout">Domain not proven</StatusDot>;
  if (site.firstDay) return <>{formatDay(site.firstDay)}</>;
  return <StatusDot state="running">Waiting for the first visit</StatusDot>;
}

function SiteDialog({ onClose }: { onClose(): void }) {
  const create = ({ domain, name }: CreateSiteBody) =>
    api.post<ListedSite>("/sites", { domain, name: name.trim() === "" ? domain : name });
  const form = useForm({ domain: "", name: "" }, create, { invalidates: ["/sites"], refusalAt: "domain" });
  if (form.output) return <NewSite created={form.output} onClose={onClose} />;
  return (
    <FormDialog title="Add a site" verb="Add" form={form} onClose={onClose}>
      <TextField label="Domain" required autocomplete="off" placeholder="example.com" {...form.field("domain")} />
      <TextField
        label="Name"
        maxlength={200}
        autocomplete="off"
        hint="In lists; its domain when empty."
        {...form.field("name")}
      />
    </FormDialog>
  );
}

function NewSite({ created, onClose }: { created: ListedSite; onClose(): void }) {
  const { data } = useQuery<SiteList>("/sites");
  const site = data?.sites.find(({ id }) => id === created.id) ?? created;
  const actions = <Button text="Done" look="main" onClick={onClose} />;
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
