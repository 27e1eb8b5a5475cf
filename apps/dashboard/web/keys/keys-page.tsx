import type { CreatedKey, CreateKeyBody, KeyList, ListedKey } from "../../src/keys/keys.route.js";
import type { Me } from "../../src/session/me.route.js";
import { api } from "../data/api.js";
import { useMayChange, useMe, useQuery } from "../data/query.js";
import { Ago, MomentDay } from "../ui/ago.js";
import { CopyField, SecretDialog } from "../ui/copy-button.js";
import { ConfirmButton, DialogButton } from "../ui/dialog.js";
import { FormDialog, Radios, TextField, useForm } from "../ui/form.js";
import { formatAgo } from "../ui/format.js";
import { Banner, Empty, Loaded, Page, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Stacked, Table } from "../ui/table.js";

export function KeysPage() {
  return (
    <Page
      title="API keys"
      note="A key opens one API for everything of this account; a shared key reads one site."
      actions={<CreateKeyButton />}
    >
      <KeyPanel />
    </Page>
  );
}

type Service = ListedKey["service"];

/** An API, where a page is about one. */
interface ServiceProps {
  service?: Service | undefined;
}

const serviceNames: Readonly<Record<Service, string>> = { trace: "Trace API", analytics: "Analytics API" };

const scopeNames = { all: "everything", ingest: "sends only", read: "reads only" } as const;

export function CreateKeyButton({ service }: ServiceProps) {
  const dialog = (close: () => void) => <KeyDialog service={service} onClose={close} />;
  if (!useMayChange()) return null;
  return <DialogButton text="Create key" look="main" icon="plus" dialog={dialog} />;
}

const invalidates = ["/keys", "/audit"];

export function KeyPanel({ service }: ServiceProps) {
  const list = useQuery<KeyList>("/keys");
  const me = useMe();
  const mayChange = useMayChange();
  const mayRevoke = ({ createdBy }: ListedKey) =>
    mayChange && (me.data?.role === "owner" || createdBy?.id === me.data?.person.id);
  const columns: readonly Column<ListedKey>[] = [
    {
      text: "Name",
      class: "is-stacked",
      cell: ({ name, hint }) => <Stacked below={<span class="mono">{hint}</span>}>{name}</Stacked>,
    },
    {
      text: "Service",
      class: "is-stacked",
      cell: (key) => <Stacked below={<Bounds of={key} />}>{serviceNames[key.service]}</Stacked>,
    },
    { text: "Made by", cell: ({ createdBy }) => createdBy?.name ?? <span class="soft">Not a member</span> },
    { text: "Made", cell: ({ createdAt }) => <Ago iso={createdAt} /> },
    {
      text: "Last used",
      cell: ({ lastUsedAt }) => (lastUsedAt ? <Ago iso={lastUsedAt} /> : <span class="soft">Never</span>),
    },
    { ...actionsColumn, cell: (key) => mayRevoke(key) && <RevokeButton of={key} /> },
  ];
  return (
    <Loaded of={list} rows={3}>
      {(loaded) => {
        const keys = loaded.keys.filter((key) => service === undefined || key.service === service);
        return (
          <Panel isFlush={keys.length > 0}>
            {keys.length > 0 ? (
              <Table name="API keys" columns={columns} rows={keys} />
            ) : (
              <NoKeys mayChange={mayChange} />
            )}
          </Panel>
        );
      }}
    </Loaded>
  );
}

function NoKeys({ mayChange }: { mayChange: boolean }) {
  const text = `Programs sign in with a key.${mayChange ? " Create one, and Waymark shows it once." : ""}`;
  return <Empty title="No keys yet" text={text} />;
}

function Bounds({ of: { scope, share } }: { of: ListedKey }) {
  if (!share) return <>{scope && scopeNames[scope]}</>;
  if (share.expiresAt === null) return <>{share.domain} alone</>;
  return (
    <>
      {share.domain} alone, until <MomentDay iso={share.expiresAt} />
    </>
  );
}

function RevokeButton({ of: { id, name, lastUsedAt } }: { of: ListedKey }) {
  const revoke = { work: () => api.delete(`/keys/${id}`), invalidates, says: "Key revoked" };
  const use = lastUsedAt ? `It was last used ${formatAgo(lastUsedAt, new Date())}.` : "It was never used.";
  return (
    <ConfirmButton title={`Revoke “${name}”?`} verb="Revoke" {...revoke}>
      <p>The key stops within a second, for good. {use}</p>
      <p class="soft">
        Programs with this key are refused from then on. Uses of the last half minute may not count yet.
      </p>
    </ConfirmButton>
  );
}

const scopeChoices = [
  { value: "all", label: "Everything", hint: "Sends, reads and deletes traces." },
  { value: "ingest", label: "Sending only", hint: "For agents, servers and browsers: it reads and deletes nothing." },
  { value: "read", label: "Reading only", hint: "For scripts, and for tools of agents (MCP)." },
] as const;

function KeyDialog({ service, onClose }: ServiceProps & { onClose(): void }) {
  const isFree = useMe().data?.account.plan === "free";
  const initial: CreateKeyBody = { name: "", service: service ?? "trace", scope: "all" };
  const create = (body: CreateKeyBody) =>
    api.post<CreatedKey>("/keys", { ...body, scope: body.service === "trace" ? body.scope : "all" });
  const form = useForm(initial, create, { invalidates, refusalAt: "name" });
  if (form.output) return <NewKey of={form.output} onClose={onClose} />;
  const choices = [
    { value: "trace", label: serviceNames.trace, hint: "For traces of agents." },
    {
      value: "analytics",
      label: serviceNames.analytics,
      hint: isFree ? "Reads statistics. It needs Pro: on Free the API refuses every key." : "Reads statistics.",
    },
  ] as const;
  return (
    <FormDialog title="Create a key" verb="Create" form={form} onClose={onClose}>
      <TextField
        label="Name"
        required
        maxlength={200}
        autocomplete="off"
        hint="Where it is used, such as a laptop or a build server."
        {...form.field("name")}
      />
      <Radios
        label="Service"
        choices={choices.filter(({ value }) => service === undefined || value === service)}
        {...form.field("service")}
      />
      {form.values.service === "trace" && <Radios label="Scope" choices={scopeChoices} {...form.field("scope")} />}
    </FormDialog>
  );
}

function NewKey({ of: created, onClose }: { of: CreatedKey; onClose(): void }) {
  const me = useMe();
  const isUseless = created.service === "analytics" && me.data?.account.plan === "free";
  const example = me.data && (
    <CopyField label="Try it in a terminal" value={tryLine(created, me.data)} lines={4} hasButton={false} />
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

/** A read, or an export of nothing: a trace would count, and take the place of the Free plan's one agent. */
function tryLine({ service, scope, key }: CreatedKey, { traceApiUrl, analyticsApiUrl }: Me): string {
  const [url, path] = service === "trace" ? [traceApiUrl, "api/v1/traces?limit=1"] : [analyticsApiUrl, "api/v1/sites"];
  const address = `${url.replace(/\/+$/, "")}/${scope === "ingest" ? "v1/traces" : path}`;
  const sent = scope === "ingest" ? ` \\\n  -H "Content-Type: application/json" -d '{}'` : "";
  return `curl "${address}" \\\n  -H "Authorization: Bearer ${key}"${sent}`;
}
