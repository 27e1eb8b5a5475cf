import "./sites.css";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import type { ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { FormDialog, NameForm, TextField, useTexts } from "../ui/form.js";
import { MissingPage, Page, Panel, Waiting } from "../ui/page.js";
import { ProofSteps, Snippet, WaitingForVisit } from "./site-setup.js";

/** A site's name, snippet, proof and deletion. */
export function SiteSettingsPage() {
  const id = useRoute().params["id"] ?? "";
  const me = useMe();
  const sites = useQuery<SiteList>("/sites");
  if (!sites.data) {
    return (
      <Page title="Site settings">
        <Waiting of={sites} />
      </Page>
    );
  }
  const site = sites.data.sites.find((each) => each.id === id);
  if (!site) return <MissingPage title="Site not found" />;
  const crumbs = (
    <>
      <a href="/dashboard/sites">Sites</a> / <a href={`/dashboard/sites/${id}`}>{site.name}</a>
    </>
  );
  return (
    <Page title="Site settings" note={site.domain} crumbs={crumbs}>
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
      {me.data?.role === "owner" && <DeletePanel site={site} />}
    </Page>
  );
}

function DeletePanel({ site }: { site: ListedSite }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Panel title="Delete this site">
      <p class="soft">Its events and statistics are deleted with it. This cannot be undone.</p>
      <p class="site-delete">
        <Button look="danger" onClick={() => setAsking(true)}>
          Delete site
        </Button>
      </p>
      {isAsking && <DeleteDialog site={site} onClose={() => setAsking(false)} />}
    </Panel>
  );
}

function DeleteDialog({ site, onClose }: { site: ListedSite; onClose(): void }) {
  const { route } = useLocation();
  const { texts, field } = useTexts({ domain: "" });
  const [isWrong, setWrong] = useState(false);
  const remove = useAction(() => api.delete(`/sites/${site.id}`), {
    invalidates: ["/sites", "/audit"],
    onDone: () => {
      announce("Site deleted");
      route("/dashboard/sites");
    },
  });
  const submit = () => (texts.domain.trim().toLowerCase() === site.domain ? remove.run() : setWrong(true));
  return (
    <FormDialog
      title={`Delete ${site.name}?`}
      verb="Delete"
      look="danger"
      action={remove}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>All events and statistics of {site.domain} are deleted. This cannot be undone. Type the domain to go on.</p>
      <TextField
        label="Domain"
        required
        autocomplete="off"
        {...field("domain", undefined)}
        error={isWrong ? `That is not ${site.domain}.` : remove.error?.message}
      />
    </FormDialog>
  );
}
