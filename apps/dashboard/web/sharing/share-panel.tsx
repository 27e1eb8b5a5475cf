import "./sharing.css";
import type { OutlineTrace } from "@waymark/traces";
import type { CreatedLink, CreateLinkBody, LinkList, ListedLink } from "../../src/sharing/links.route.js";
import { api } from "../data/api.js";
import { useMayChange, useMe, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { CopyField, SecretDialog } from "../ui/copy-button.js";
import { ConfirmButton, Dialog, DialogButton } from "../ui/dialog.js";
import { FormDialog, TextField, useForm } from "../ui/form.js";
import { formatDay } from "../ui/format.js";
import { Empty, Loaded, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Stacked, Table } from "../ui/table.js";

interface SharedProps {
  /** The path of the data of a site or trace. */
  of: string;
  /** What anybody with a link sees. */
  says: string;
}

const changes = (of: string) => [`${of}/links`, "/audit"];

export function SharePanel({ of, says }: SharedProps) {
  const list = useQuery<LinkList>(`${of}/links`);
  return (
    <Loaded of={list} rows={2}>
      {({ links }) => (
        <Panel title="Shared links" isFlush={links.length > 0} actions={<ShareButton of={of} says={says} />}>
          {links.length > 0 ? <LinkTable of={of} links={links} /> : <Empty title="No shared links" text={says} />}
        </Panel>
      )}
    </Loaded>
  );
}

export interface ShareTraceProps {
  trace: OutlineTrace;
  onClose(): void;
}

export function ShareTraceDialog({ trace: { id, name }, onClose }: ShareTraceProps) {
  const says =
    "Anybody with a link sees this trace, with the inputs, outputs and attributes of its spans. Its agent and its labels, such as the user, stay hidden.";
  return (
    <Dialog title={`Share “${name || "(no name)"}”`} onClose={onClose} isWide>
      <SharePanel of={`/traces/${id}`} says={says} />
    </Dialog>
  );
}

function LinkTable({ of, links }: Pick<SharedProps, "of"> & { links: readonly ListedLink[] }) {
  const me = useMe();
  const mayChange = useMayChange();
  const mayRevoke = ({ createdBy }: ListedLink) =>
    mayChange && (me.data?.role === "owner" || createdBy?.id === me.data?.person.id);
  const columns: readonly Column<ListedLink>[] = [
    {
      text: "Link",
      class: "is-stacked share-link",
      cell: ({ createdAt, createdBy, ...link }, isNarrow) => (
        <Stacked
          below={
            <>
              {createdBy?.name ?? "Not a member"}, <Ago iso={createdAt} />
              {isNarrow && `, until ${formatDay(lastDayOf(link.expiresAt))}`}
            </>
          }
        >
          {saysWho(link)}
        </Stacked>
      ),
    },
    { text: "Last day (UTC)", isWide: true, cell: ({ expiresAt }) => formatDay(lastDayOf(expiresAt)) },
    {
      text: "Last opened",
      isWide: true,
      cell: ({ lastUsedAt }) => (lastUsedAt ? <Ago iso={lastUsedAt} /> : <span class="soft">Never</span>),
    },
    { ...actionsColumn, cell: (link) => mayRevoke(link) && <RevokeButton of={of} link={link} /> },
  ];
  return <Table name="Shared links" columns={columns} rows={links} narrowPx={700} />;
}

function saysWho({ hasPassword, frameOrigins }: Pick<ListedLink, "hasPassword" | "frameOrigins">): string {
  if (hasPassword) return "With a password";
  if (frameOrigins.length === 0) return "For everybody with the address";
  return `Also in pages of ${frameOrigins.join(", ")}`;
}

const lastDayOf = (end: string) => new Date(Date.parse(end) - 1).toISOString().slice(0, 10);

function RevokeButton({ of, link: { id } }: Pick<SharedProps, "of"> & { link: ListedLink }) {
  const revoke = { work: () => api.delete(`/links/${id}`), invalidates: changes(of), says: "Link revoked" };
  return (
    <ConfirmButton title="Revoke this link?" verb="Revoke" {...revoke}>
      <p>Its address stops within a second, for good, also where a page shows it in a frame.</p>
    </ConfirmButton>
  );
}

function ShareButton(props: SharedProps) {
  if (!useMayChange()) return null;
  return <DialogButton text="Share" icon="plus" dialog={(close) => <ShareDialog {...props} onClose={close} />} />;
}

const usualDays = 30;
const dayAfter = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

function ShareDialog({ of, says, onClose }: SharedProps & { onClose(): void }) {
  const initial = { lastDay: dayAfter(usualDays), password: "", frameOrigins: "" };
  const create = ({ lastDay, password, frameOrigins }: typeof initial) => {
    const origins = frameOrigins.split(/[\s,]+/).filter(Boolean);
    const body: CreateLinkBody = { lastDay, ...(password !== "" && { password }), frameOrigins: origins };
    return api.post<CreatedLink>(`${of}/links`, body);
  };
  const form = useForm(initial, create, { invalidates: changes(of), refusalAt: "lastDay" });
  if (form.output) return <NewLink of={form.output} onClose={onClose} />;
  return (
    <FormDialog title="Share by a link" verb="Create link" form={form} onClose={onClose}>
      <p class="field">{says}</p>
      <TextField
        label="Last day (UTC)"
        type="date"
        required
        min={dayAfter(0)}
        max={dayAfter(365)}
        hint="The link works until this day is over, at most a year."
        {...form.field("lastDay")}
      />
      <TextField
        label="Password"
        type="password"
        autocomplete="new-password"
        hint="If you want one: at least 10 characters."
        {...form.field("password")}
      />
      <TextField
        label="Pages that may show it in a frame"
        autocomplete="off"
        placeholder="https://example.com"
        hint="Their origins, with spaces between. Without one no page may; a link with a password never."
        {...form.field("frameOrigins")}
      />
    </FormDialog>
  );
}

function NewLink({ of: { url, frameOrigins }, onClose }: { of: CreatedLink; onClose(): void }) {
  const code = `<iframe src="${url}" title="Waymark" width="100%" height="900" style="border: 0" loading="lazy"></iframe>`;
  const frame = frameOrigins.length > 0 && (
    <div class="share-code">
      <CopyField label="Code for a page" value={code} lines={6} />
    </div>
  );
  return (
    <SecretDialog
      title="Your new link"
      label="Address"
      secret={url}
      hint="Keep it now: Waymark stores only its hash and cannot show it again."
      warning="Copied? Nobody can show this address again. “Done” closes it anyway."
      onClose={onClose}
      others={frame}
    />
  );
}
