import { useState } from "preact/hooks";
import type { CreateSiteBody, ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";
import { ProofSteps } from "./proof-panel.js";
import { Snippet, WaitingForVisit } from "./snippet.js";

/** Asks for domain and name, then shows the snippet and waits for the first visit. */
export function SiteDialog({ onClose }: { onClose(): void }) {
  const [created, setCreated] = useState<ListedSite>();
  return created ? (
    <NewSite created={created} onClose={onClose} />
  ) : (
    <SiteForm onCreated={setCreated} onClose={onClose} />
  );
}

function SiteForm({ onCreated, onClose }: { onCreated(site: ListedSite): void; onClose(): void }) {
  const [domain, setDomain] = useState("");
  const [name, setName] = useState("");
  const create = useAction((body: CreateSiteBody) => api.post<ListedSite>("/sites", body), { invalidates: ["/sites"] });
  const submit = async () => {
    const site = await create.run({ domain, name: name.trim() === "" ? domain : name });
    if (site) onCreated(site);
  };
  const { error } = create;
  return (
    <FormDialog title="Add a site" verb="Add" isBusy={create.isBusy} onSubmit={() => void submit()} onClose={onClose}>
      <TextField
        label="Domain"
        value={domain}
        onValue={setDomain}
        required
        autocomplete="off"
        placeholder="example.com"
        error={error?.fields["domain"] ?? error?.refusal}
      />
      <TextField
        label="Name"
        value={name}
        onValue={setName}
        maxlength={200}
        autocomplete="off"
        hint="In lists; its domain when empty."
        error={error?.fields["name"]}
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
