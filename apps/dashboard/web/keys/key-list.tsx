import "./keys.css";
import { useState } from "preact/hooks";
import type { KeyList, ListedKey } from "../../src/keys/keys.route.js";
import { api } from "../data/api.js";
import { useMe } from "../data/me.js";
import { useAction, useQuery } from "../data/query.js";
import { Ago, MomentDay } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { formatAgo } from "../ui/format.js";
import { Panel } from "../ui/panel.js";
import { Empty, ErrorNote, Skeleton } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";
import { KeyDialog } from "./key-dialog.js";

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
  if (list.error && !list.data) return <ErrorNote error={list.error} onRetry={list.refetch} />;
  if (!list.data) return <Skeleton rows={3} />;
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
        <tbody>
          {keys.map((key) => (
            <KeyRow key={key.id} of={key} onRevoke={mayRevoke(key) ? () => setRevoked(key) : undefined} />
          ))}
        </tbody>
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
  const revoke = useAction(() => api.delete(`/keys/${key.id}`).then(() => true), { invalidates: ["/keys", "/audit"] });
  const confirm = async () => {
    if (!(await revoke.run())) return;
    announce("Key revoked");
    onClose();
  };
  const use = key.lastUsedAt ? `It was last used ${formatAgo(key.lastUsedAt, new Date())}.` : "It was never used.";
  return (
    <Confirm
      title={`Revoke “${key.name}”?`}
      verb="Revoke"
      isBusy={revoke.isBusy}
      error={revoke.error?.message}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>The key stops within a second, for good. {use}</p>
      <p class="soft">
        Programs with this key are refused from then on. Uses of the last half minute may not count yet.
      </p>
    </Confirm>
  );
}
