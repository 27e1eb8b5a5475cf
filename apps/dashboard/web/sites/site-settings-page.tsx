import "./sites.css";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import type { ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useAction, useMayChange, useMe, useQuery } from "../data/query.js";
import { SharePanel } from "../sharing/share-panel.js";
import { Segmented } from "../ui/choices.js";
import { DialogButton } from "../ui/dialog.js";
import { FormDialog, NameForm, TextField, useForm } from "../ui/form.js";
import { ActionError, Loaded, MissingPage, Page, Panel } from "../ui/page.js";
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
      {useMayChange() && (
        <Panel title="Name">
          <NameForm
            key={site.id}
            path={`/sites/${site.id}`}
            name={site.name}
            maxlength={200}
            invalidates={["/sites"]}
          />
        </Panel>
      )}
      <Panel title="Snippet">
        <Snippet domain={site.domain} />
        {!site.isWaiting && <WaitingForVisit siteId={site.id} />}
      </Panel>
      <SharePanel
        of={`/sites/${site.id}`}
        says={`Anybody with a link sees the statistics of ${site.domain}, without signing in.`}
      />
      <CostsPanel site={site} isOwner={isOwner} />
      {isOwner && <DeletePanel site={site} />}
    </>
  );
}

const costsChoices = [
  { value: "off", label: "Off" },
  { value: "on", label: "On" },
] as const;

function CostsPanel({ site, isOwner }: { site: ListedSite; isOwner: boolean }) {
  const value = site.countsCosts ? "on" : "off";
  const change = useAction((countsCosts: boolean) => api.put(`/sites/${site.id}/costs`, { countsCosts }), {
    invalidates: ["/sites", "/audit"],
    says: "Saved",
  });
  return (
    <Panel title="What a visit costs">
      <ActionError of={change} />
      {isOwner ? (
        <Segmented
          label="What a visit costs"
          value={value}
          choices={costsChoices}
          onValue={(next) => next !== value && change.run(next === "on")}
        />
      ) : (
        <p>{site.countsCosts ? "On" : "Off"}. An owner may change it.</p>
      )}
      <p class="hint site-costs">
        Sums what your agents cost by channel, source, entry page and goal. Pages ask <code>await waymark.visit()</code>{" "}
        for a token, and your agents send it with their traces. It stands for a visitor’s UTC day on this site and dies
        with it. A trace keeps a hash of it for 48 hours; then it goes, like the salt that leads from it to a visit.
        Sums stay, as long as the site, for groups of at least five visitors of a day. No trace leads to a visit.
      </p>
    </Panel>
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
