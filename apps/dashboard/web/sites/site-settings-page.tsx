import "./sites.css";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import type { ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useMe } from "../data/me.js";
import { useAction, useQuery } from "../data/query.js";
import { MissingPage } from "../shell/missing-page.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";
import { NameForm } from "../ui/name-form.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { ErrorNote, Skeleton } from "../ui/states.js";
import { ProofSteps } from "./proof-panel.js";
import { Snippet, WaitingForVisit } from "./snippet.js";

/** A site's name, snippet, proof and deletion. */
export function SiteSettingsPage() {
  const id = useRoute().params["id"] ?? "";
  const me = useMe();
  const { data, error, refetch } = useQuery<SiteList>("/sites");
  if (error && !data) {
    return (
      <Page title="Site settings">
        <ErrorNote error={error} onRetry={refetch} />
      </Page>
    );
  }
  if (!data) {
    return (
      <Page title="Site settings">
        <Skeleton />
      </Page>
    );
  }
  const site = data.sites.find((each) => each.id === id);
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
  const [typed, setTyped] = useState("");
  const [isWrong, setWrong] = useState(false);
  const remove = useAction(() => api.delete(`/sites/${site.id}`).then(() => true), {
    invalidates: ["/sites", "/audit"],
  });
  const submit = async () => {
    if (typed.trim().toLowerCase() !== site.domain) {
      setWrong(true);
      return;
    }
    if (!(await remove.run())) return;
    announce("Site deleted");
    route("/dashboard/sites");
  };
  return (
    <FormDialog
      title={`Delete ${site.name}?`}
      verb="Delete"
      look="danger"
      isBusy={remove.isBusy}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p>All events and statistics of {site.domain} are deleted. This cannot be undone. Type the domain to go on.</p>
      <TextField
        label="Domain"
        value={typed}
        onValue={setTyped}
        required
        autocomplete="off"
        error={isWrong ? `That is not ${site.domain}.` : remove.error?.message}
      />
    </FormDialog>
  );
}
