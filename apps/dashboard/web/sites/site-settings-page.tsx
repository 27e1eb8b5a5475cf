import "./sites.css";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import type { ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useMe, useQuery } from "../data/query.js";
import { DialogButton } from "../ui/dialog.js";
import { FormDialog, NameForm, TextField, useForm } from "../ui/form.js";
import { Loaded, MissingPage, Page, Panel } from "../ui/page.js";
import { ProofSteps, Snippet, WaitingForVisit } from "./site-setup.js";

export function SiteSettingsPage() {
  const id = useRoute().params["id"] ?? "";
  const me = useMe();
  const sites = useQuery<SiteList>("/sites");
  const site = sites.data?.sites.find((each) => each.id === id);
  if (sites.data && !site) return <MissingPage title="Site not found" />;
  const crumbs = site && (
    <>
      <a href="/dashboard/sites">Sites</a> / <a href={`/dashboard/sites/${id}`}>{site.name}</a>
    </>
  );
  return (
    <Page title="Site settings" note={site?.domain} crumbs={crumbs}>
      <Loaded of={sites}>{() => site && <Panels site={site} isOwner={me.data?.role === "owner"} />}</Loaded>
    </Page>
  );
}

function Panels({ site, isOwner }: { site: ListedSite; isOwner: boolean }) {
  return (
    <>
      {site.proof && (
        <Panel title="Prove the domain">
          <ProofSteps site={site} proof={site.proof} />
        </Panel>
      )}
      <Panel title="Name">
        <NameForm key={site.id} path={`/sites/${site.id}`} name={site.name} maxlength={200} invalidates={["/sites"]} />
      </Panel>
      <Panel title="Snippet">
        <Snippet domain={site.domain} />
        {!site.isWaiting && <WaitingForVisit siteId={site.id} />}
      </Panel>
      {isOwner && <DeletePanel site={site} />}
    </>
  );
}

function DeletePanel({ site }: { site: ListedSite }) {
  return (
    <Panel title="Delete this site">
      <p class="soft">Its events and statistics are deleted with it. This cannot be undone.</p>
      <p class="site-delete">
        <DialogButton
          text="Delete site"
          look="danger"
          dialog={(close) => <DeleteDialog site={site} onClose={close} />}
        />
      </p>
    </Panel>
  );
}

function DeleteDialog({ site, onClose }: { site: ListedSite; onClose(): void }) {
  const { route } = useLocation();
  const [isWrong, setWrong] = useState(false);
  const form = useForm({ domain: "" }, () => api.delete(`/sites/${site.id}`), {
    invalidates: ["/sites", "/audit"],
    says: "Site deleted",
    onDone: () => route("/dashboard/sites"),
  });
  const submit = () => (form.values.domain.trim().toLowerCase() === site.domain ? form.submit() : setWrong(true));
  const title = `Delete ${site.name}?`;
  return (
    <FormDialog title={title} verb="Delete" look="danger" form={{ ...form, submit }} onClose={onClose}>
      <p>All events and statistics of {site.domain} are deleted. This cannot be undone. Type the domain to go on.</p>
      <TextField
        label="Domain"
        required
        autocomplete="off"
        {...form.field("domain")}
        error={isWrong ? `That is not ${site.domain}.` : form.error?.message}
      />
    </FormDialog>
  );
}
