import { useState } from "preact/hooks";
import type { CreatedKey, CreateKeyBody, KeyList, ListedKey } from "../../src/keys/keys.route.js";
import type { Me } from "../../src/session/me.route.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { Ago, MomentDay } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { SecretDialog } from "../ui/copy-button.js";
import { Confirm } from "../ui/dialog.js";
import { Field, FormDialog, Radios, TextField, useTexts } from "../ui/form.js";
import { formatAgo } from "../ui/format.js";
import { Banner, Empty, Page, Panel, Waiting } from "../ui/page.js";
import { actionsColumn, Table } from "../ui/table.js";

export function KeysPage() {
  const { button, dialog } = useKeyDialog();
  return (
    <Page
      title="API keys"
      note="A key opens one API for everything of this account; a shared key reads one site."
      actions={button}
    >
      <KeyPanel />
      {dialog}
    </Page>
  );
}

type Service = ListedKey["service"];

const serviceNames: Readonly<Record<Service, string>> = { trace: "Trace API", analytics: "Analytics API" };

/** The button "Create key" and its dialog. @param service the only one to choose, where a page is about one */
export function useKeyDialog(service?: Service) {
  const [isOpen, setOpen] = useState(false);
  const button = (
    <Button look="main" icon="plus" onClick={() => setOpen(true)}>
      Create key
    </Button>
  );
  const dialog = isOpen && <KeyDialog service={service} onClose={() => setOpen(false)} />;
  return { button, dialog };
}

/** The table of keys with "Revoke". @param service shows the keys of one API alone */
export function KeyPanel({ service }: { service?: Service }) {
  const list = useQuery<KeyList>("/keys");
  const me = useMe();
  const [revoked, setRevoked] = useState<ListedKey>();
  if (!list.data) return <Waiting of={list} rows={3} />;
  const keys = list.data.keys.filter((key) => service === undefined || key.service === service);
  if (keys.length === 0) {
    return (
      <Panel>
        <Empty title="No keys yet">
          <p>Programs sign in with a key. Create one, and Waymark shows it once.</p>
        </Empty>
      </Panel>
    );
  }
  const mayRevoke = (key: ListedKey) => me.data?.role === "owner" || key.createdBy?.id === me.data?.person.id;
  return (
    <Panel isFlush>
      <Table name="API keys" columns={["Name", "Service", "Made by", "Made", "Last used", actionsColumn]}>
        {keys.map((key) => (
          <KeyRow key={key.id} of={key} onRevoke={mayRevoke(key) ? () => setRevoked(key) : undefined} />
        ))}
      </Table>
      {revoked && <RevokeDialog of={revoked} onClose={() => setRevoked(undefined)} />}
    </Panel>
  );
}

function KeyRow({ of: key, onRevoke }: { of: ListedKey; onRevoke: (() => void) | undefined }) {
  return (
    <tr>
      <th scope="row" class="is-stacked">
        {key.name}
        <span class="mono soft">{key.hint}</span>
      </th>
      <td class="is-stacked">
        {serviceNames[key.service]}
        {key.share && <Share of={key.share} />}
      </td>
      <td>{key.createdBy?.name ?? <span class="soft">Not a member</span>}</td>
      <td>
        <Ago iso={key.createdAt} />
      </td>
      <td>{key.lastUsedAt ? <Ago iso={key.lastUsedAt} /> : <span class="soft">Never</span>}</td>
      <td class="is-action">{onRevoke && <Button onClick={onRevoke}>Revoke</Button>}</td>
    </tr>
  );
}

function Share({ of: { domain, expiresAt } }: { of: NonNullable<ListedKey["share"]> }) {
  if (expiresAt === null) return <span class="soft">{domain} alone</span>;
  return (
    <span class="soft">
      {domain} alone, until <MomentDay iso={expiresAt} />
    </span>
  );
}

function RevokeDialog({ of: key, onClose }: { of: ListedKey; onClose(): void }) {
  const revoke = useAction(() => api.delete(`/keys/${key.id}`), {
    invalidates: ["/keys", "/audit"],
    onDone: () => {
      announce("Key revoked");
      onClose();
    },
  });
  const use = key.lastUsedAt ? `It was last used ${formatAgo(key.lastUsedAt, new Date())}.` : "It was never used.";
  return (
    <Confirm title={`Revoke “${key.name}”?`} verb="Revoke" action={revoke} onClose={onClose}>
      <p>The key stops within a second, for good. {use}</p>
      <p class="soft">
        Programs with this key are refused from then on. Uses of the last half minute may not count yet.
      </p>
    </Confirm>
  );
}

interface KeyDialogProps {
  /** The only service to choose. */
  service?: Service | undefined;
  onClose(): void;
}

/** Asks for a name and a service, then shows the key, this once. */
function KeyDialog({ service, onClose }: KeyDialogProps) {
  const [created, setCreated] = useState<CreatedKey>();
  if (created) return <NewKey of={created} onClose={onClose} />;
  return <KeyForm service={service} onCreated={setCreated} onClose={onClose} />;
}

interface KeyFormProps extends KeyDialogProps {
  onCreated(key: CreatedKey): void;
}

function KeyForm({ service: only, onCreated, onClose }: KeyFormProps) {
  const me = useMe();
  const { texts, field } = useTexts({ name: "" }, "name");
  const [service, setService] = useState<Service>(only ?? "trace");
  const create = useAction((body: CreateKeyBody) => api.post<CreatedKey>("/keys", body), {
    invalidates: ["/keys", "/audit"],
    onDone: onCreated,
  });
  const isFree = me.data?.account.plan === "free";
  const choices = [
    { value: "trace", label: "Trace API", hint: "Sends and reads traces." },
    {
      value: "analytics",
      label: "Analytics API",
      hint: isFree ? "Reads statistics. It needs Pro: on Free the API refuses every key." : "Reads statistics.",
    },
  ] as const;
  return (
    <FormDialog
      title="Create a key"
      verb="Create"
      action={create}
      onSubmit={() => create.run({ ...texts, service })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        required
        maxlength={200}
        autocomplete="off"
        hint="Where it is used, such as a laptop or a build server."
        {...field("name", create.error)}
      />
      <Radios
        label="Service"
        value={service}
        choices={only ? choices.filter(({ value }) => value === only) : choices}
        onValue={(chosen) => setService(chosen)}
      />
    </FormDialog>
  );
}

function NewKey({ of: created, onClose }: { of: CreatedKey; onClose(): void }) {
  const me = useMe();
  const line = me.data && tryLine(created, me.data);
  const isUseless = created.service === "analytics" && me.data?.account.plan === "free";
  const example = line && (
    <Field label="Try it in a terminal">
      {(control) => (
        <textarea
          class="input mono"
          readOnly
          rows={4}
          spellcheck={false}
          value={line}
          onFocus={(event) => event.currentTarget.select()}
          {...control}
        />
      )}
    </Field>
  );
  return (
    <SecretDialog
      title={created.name}
      label="Your new key"
      secret={created.key}
      hint="Keep it now: Waymark stores only its hash and cannot show it again."
      warning="Copied? Nobody can show this key again. “Done” closes it anyway."
      onClose={onClose}
      others={example}
    >
      {isUseless && <Banner tone="warning">The Analytics API refuses this key until the account has Pro.</Banner>}
    </SecretDialog>
  );
}

/** A read: a trace would count, and take the place of the Free plan's one agent. */
function tryLine({ service, key }: CreatedKey, { traceApiUrl, analyticsApiUrl }: Me): string {
  const [url, path] = service === "trace" ? [traceApiUrl, "traces?limit=1"] : [analyticsApiUrl, "sites"];
  return `curl "${url.replace(/\/+$/, "")}/api/v1/${path}" \\\n  -H "Authorization: Bearer ${key}"`;
}
