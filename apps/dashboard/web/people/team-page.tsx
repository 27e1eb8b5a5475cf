import { useState } from "preact/hooks";
import type {
  AuditLine,
  AuditList,
  ChangePersonBody,
  Invitation,
  InvitePersonBody,
  ListedPerson,
  PeopleList,
} from "../../src/people/people.route.js";
import { api } from "../data/api.js";
import { useAction, useMe, usePages, useQuery } from "../data/query.js";
import { Ago, MomentDay } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button, RunButton } from "../ui/button.js";
import { Select } from "../ui/choices.js";
import { ConfirmButton, DialogButton } from "../ui/dialog.js";
import { FormDialog, Radios, TextField, useForm } from "../ui/form.js";
import { formatThings } from "../ui/format.js";
import { ActionError, Banner, ErrorNote, Loaded, Page, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Stacked, Table } from "../ui/table.js";

export function TeamPage() {
  const isOwner = useMe().data?.role === "owner";
  const people = useQuery<PeopleList>("/people");
  const invite = isOwner && (
    <DialogButton text="Invite" look="main" icon="plus" dialog={(close) => <InviteDialog onClose={close} />} />
  );
  return (
    <Page title="Team" actions={invite}>
      <Loaded of={people} rows={3}>
        {({ leftKeys, people: listed, invitations }) => (
          <>
            {isOwner && leftKeys > 0 && <LeftKeys keys={leftKeys} />}
            <PeoplePanel people={listed} isOwner={isOwner} />
            {isOwner && invitations.length > 0 && <InvitationsPanel invitations={invitations} />}
            <AuditPanel />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function LeftKeys({ keys }: { keys: number }) {
  const things = formatThings(keys, "key of somebody who left still works", "keys of people who left still work");
  return (
    <Banner tone="warning">
      {things}. Revoke what nobody uses. <a href="/dashboard/keys">API keys</a>
    </Banner>
  );
}

const invalidates = ["/people", "/audit"];

const roleNames = { owner: "Owner", member: "Member", viewer: "Viewer" } as const;
const roleChoices = (["owner", "member", "viewer"] as const).map((value) => ({ value, label: roleNames[value] }));

function InvitationsPanel({ invitations }: { invitations: readonly Invitation[] }) {
  const takeBack = useAction((id: string) => api.delete(`/invitations/${id}`), { invalidates });
  const columns: readonly Column<Invitation>[] = [
    { text: "Email", class: "is-stacked", cell: ({ email }) => email },
    { text: "Role", cell: ({ role }) => roleNames[role] },
    { text: "Sent", cell: ({ invitedAt }) => <Ago iso={invitedAt} /> },
    { text: "Ends", cell: ({ expiresAt }) => <MomentDay iso={expiresAt} /> },
    { ...actionsColumn, cell: ({ id }) => <RunButton text="Take back" of={takeBack} with={id} /> },
  ];
  return (
    <Panel title="Invitations" isFlush>
      <ActionError of={takeBack} />
      <Table name="Invitations" columns={columns} rows={invitations} />
    </Panel>
  );
}

const sentences: Readonly<Record<AuditLine["action"], string>> = {
  key_created: "Created the key",
  key_revoked: "Revoked the key",
  link_shared: "Shared",
  link_revoked: "Ended a shared link of",
  person_invited: "Invited",
  person_joined: "Joined:",
  person_removed: "Removed",
  role_changed: "Changed the role of",
  factor_added: "Added for signing in:",
  factor_removed: "Removed for signing in:",
  plan_changed: "Changed the plan:",
  keep_changed: "Changed what is kept:",
  site_deleted: "Deleted the site",
  site_proven: "Proved the domain",
  site_costs_on: "Switched on costs of visits",
  site_costs_off: "Switched off costs of visits",
  site_lost: "Another account proved the domain",
  trace_deleted: "Deleted the trace",
};

const auditColumns: readonly Column<AuditLine>[] = [
  {
    text: "Action",
    class: "is-stacked",
    cell: ({ action, subject }) => (
      <>
        {sentences[action]} <strong>{subject}</strong>
      </>
    ),
  },
  { text: "By", cell: ({ person }) => person ?? <span class="soft">Not a member</span> },
  { text: "When", isNumber: true, cell: ({ at }) => <Ago iso={at} /> },
];

function AuditPanel() {
  const latest = useQuery<AuditList>("/audit");
  const { items: lines = [], ...older } = usePages("/audit", latest.data, {
    itemsOf: ({ entries }) => entries,
    nextOf: ({ entries, hasMore }) => (hasMore ? `before=${entries.at(-1)?.id}` : undefined),
  });
  if (!latest.data) return latest.error ? <ErrorNote error={latest.error} onRetry={latest.refetch} /> : null;
  if (lines.length === 0) return null;
  return (
    <Panel title="Audit log" isFlush>
      <Table hasPlainRows name="Audit log" columns={auditColumns} rows={lines} />
      {older.hasMore && <Button text="Show more" look="quiet" isBusy={older.isLoading} onClick={older.more} />}
    </Panel>
  );
}

const roles = [
  { value: "member", label: "Member", hint: "Sees everything, and makes keys and sites." },
  { value: "viewer", label: "Viewer", hint: "Sees and exports everything, and changes nothing." },
  { value: "owner", label: "Owner", hint: "Also manages people, the plan and all keys, and deletes." },
] as const;

function InviteDialog({ onClose }: { onClose(): void }) {
  const initial: InvitePersonBody = { email: "", role: "member" };
  const invite = (body: InvitePersonBody) => api.post<Invitation>("/people", body);
  const form = useForm(initial, invite, {
    invalidates,
    refusalAt: "email",
    onDone: ({ email }) => {
      announce(`An invitation is on its way to ${email}`);
      onClose();
    },
  });
  return (
    <FormDialog title="Invite somebody" verb="Send invitation" form={form} onClose={onClose}>
      <TextField
        label="Email"
        type="email"
        autocomplete="off"
        required
        hint="They get a link that works for 7 days."
        {...form.field("email")}
      />
      <Radios label="Role" choices={roles} {...form.field("role")} />
    </FormDialog>
  );
}

function PeoplePanel({ people, isOwner }: { people: readonly ListedPerson[]; isOwner: boolean }) {
  const change = useAction(({ id, role }: { id: string } & ChangePersonBody) => api.patch(`/people/${id}`, { role }), {
    invalidates: [...invalidates, "/me"],
  });
  const hasOneOwner = people.filter(({ role }) => role === "owner").length === 1;
  const isFree = (person: ListedPerson) => !(hasOneOwner && person.role === "owner");
  const columns: readonly Column<ListedPerson>[] = [
    {
      text: "Name",
      class: "is-stacked",
      cell: ({ name, email, isYou }) => (
        <Stacked below={email}>
          {name} {isYou && <span class="hint">(you)</span>}
        </Stacked>
      ),
    },
    {
      text: "Role",
      cell: (person) =>
        isOwner && isFree(person) ? (
          <Select
            class="input is-small"
            label={`Role of ${person.name}`}
            value={person.role}
            choices={roleChoices}
            onValue={(role) => change.run({ id: person.id, role })}
          />
        ) : (
          roleNames[person.role]
        ),
    },
    { text: "Last active", cell: ({ seenAt }) => (seenAt ? <Ago iso={seenAt} /> : "Signed out") },
    {
      ...actionsColumn,
      cell: (person) => (isOwner || person.isYou) && isFree(person) && <LeaveButton person={person} />,
    },
  ];
  return (
    <>
      <ActionError of={change} />
      <Panel isFlush>
        <Table name="People" columns={columns} rows={people} />
      </Panel>
    </>
  );
}

const choices = [
  { value: "revoke", label: "Revoke", hint: "They stop within a second." },
  { value: "keep", label: "Keep", hint: "Programs that use them go on." },
] as const;

/** Removes a person, or lets the viewer leave. Their keys end unless somebody says otherwise. */
function LeaveButton({ person: { id, name, isYou, keys: made } }: { person: ListedPerson }) {
  const [keys, setKeys] = useState<(typeof choices)[number]["value"]>("revoke");
  const after = isYou
    ? { onDone: () => location.assign("/dashboard/sign-in") }
    : { invalidates: [...invalidates, "/keys"], says: `${name} was removed` };
  return (
    <ConfirmButton
      title={isYou ? "Leave this account?" : `Remove ${name}?`}
      verb={isYou ? "Leave" : "Remove"}
      work={() => api.delete(`/people/${id}?keys=${keys}`)}
      {...after}
    >
      <p class="field">
        {isYou
          ? "You sign out here at once. An owner can invite you again."
          : "Their sessions in this account end within a second."}
      </p>
      {made > 0 && (
        <Radios
          label={`${isYou ? "You" : "They"} made ${formatThings(made, "key")}`}
          value={keys}
          choices={choices}
          onValue={(chosen) => setKeys(chosen)}
        />
      )}
    </ConfirmButton>
  );
}
