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
import { invalidate, useAction, useMe, usePages, useQuery } from "../data/query.js";
import { Ago, MomentDay } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { FormDialog, Radios, TextField, useTexts } from "../ui/form.js";
import { formatThings } from "../ui/format.js";
import { Banner, ErrorNote, Page, Panel, Waiting } from "../ui/page.js";
import { actionsColumn, Table } from "../ui/table.js";

/** People of the account. An owner invites, changes roles and removes; a member sees who is here, and may leave. */
export function TeamPage() {
  const me = useMe();
  const people = useQuery<PeopleList>("/people");
  const [isInviting, setInviting] = useState(false);
  const isOwner = me.data?.role === "owner";
  const actions = isOwner && (
    <Button look="main" icon="plus" onClick={() => setInviting(true)}>
      Invite
    </Button>
  );
  return (
    <Page title="Team" actions={actions}>
      <Waiting of={people} rows={3} />
      {people.data && (
        <>
          {isOwner && people.data.leftKeys > 0 && <LeftKeys keys={people.data.leftKeys} />}
          <PeoplePanel people={people.data.people} isOwner={isOwner} isLastOwner={hasOneOwner(people.data.people)} />
          {isOwner && people.data.invitations.length > 0 && <InvitationsPanel invitations={people.data.invitations} />}
          <AuditPanel />
        </>
      )}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Page>
  );
}

function hasOneOwner(people: readonly ListedPerson[]): boolean {
  return people.filter(({ role }) => role === "owner").length === 1;
}

function LeftKeys({ keys }: { keys: number }) {
  const things = formatThings(keys, "key of somebody who left still works", "keys of people who left still work");
  return (
    <Banner tone="warning">
      {things}. Revoke what nobody uses. <a href="/dashboard/keys">API keys</a>
    </Banner>
  );
}

function InvitationsPanel({ invitations }: { invitations: readonly Invitation[] }) {
  const takeBack = useAction((id: string) => api.delete(`/invitations/${id}`), { invalidates: ["/people", "/audit"] });
  return (
    <Panel title="Invitations" isFlush>
      {takeBack.error && <Banner tone="error">{takeBack.error.message}</Banner>}
      <Table name="Invitations" columns={["Email", "Role", "Sent", "Ends", actionsColumn]}>
        {invitations.map(({ id, email, role, invitedAt, expiresAt }) => (
          <tr key={id}>
            <th scope="row" class="is-stacked">
              {email}
            </th>
            <td>{role === "owner" ? "Owner" : "Member"}</td>
            <td>
              <Ago iso={invitedAt} />
            </td>
            <td>
              <MomentDay iso={expiresAt} />
            </td>
            <td class="is-action">
              <Button isBusy={takeBack.isBusy} onClick={() => takeBack.run(id)}>
                Take back
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

const sentences: Readonly<Record<AuditLine["action"], string>> = {
  key_created: "Created the key",
  key_revoked: "Revoked the key",
  person_invited: "Invited",
  person_joined: "Joined:",
  person_removed: "Removed",
  role_changed: "Changed the role of",
  plan_changed: "Changed the plan:",
  site_deleted: "Deleted the site",
  site_proven: "Proved the domain",
  site_lost: "Another account proved the domain",
  trace_deleted: "Deleted the trace",
};

/** Who did what to the account, latest first. */
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
      <Table name="Audit log" columns={["Action", "By", { text: "When", isNumber: true }]}>
        {lines.map(({ id, action, subject, person, at }) => (
          <tr key={id}>
            <td class="is-stacked">
              {sentences[action]} <strong>{subject}</strong>
            </td>
            <td>{person ?? <span class="soft">Not a member</span>}</td>
            <td class="number">
              <Ago iso={at} />
            </td>
          </tr>
        ))}
      </Table>
      {older.hasMore && (
        <Button look="quiet" isBusy={older.isLoading} onClick={older.more}>
          Show more
        </Button>
      )}
    </Panel>
  );
}

const roles = [
  { value: "member", label: "Member", hint: "Sees everything, and makes keys and sites." },
  { value: "owner", label: "Owner", hint: "Also manages people, the plan and all keys, and deletes." },
] as const;

function InviteDialog({ onClose }: { onClose(): void }) {
  const { texts, field } = useTexts({ email: "" }, "email");
  const [role, setRole] = useState<InvitePersonBody["role"]>("member");
  const invite = useAction((body: InvitePersonBody) => api.post<Invitation>("/people", body), {
    invalidates: ["/people", "/audit"],
    onDone: () => {
      announce(`An invitation is on its way to ${texts.email}`);
      onClose();
    },
  });
  return (
    <FormDialog
      title="Invite somebody"
      verb="Send invitation"
      action={invite}
      onSubmit={() => invite.run({ ...texts, role })}
      onClose={onClose}
    >
      <TextField
        label="Email"
        type="email"
        autocomplete="off"
        required
        hint="They get a link that works for 7 days."
        {...field("email", invite.error)}
      />
      <Radios label="Role" value={role} choices={roles} onValue={(chosen) => setRole(chosen)} />
    </FormDialog>
  );
}

interface PeoplePanelProps {
  people: readonly ListedPerson[];
  isOwner: boolean;
  isLastOwner: boolean;
}

function PeoplePanel({ people, isOwner, isLastOwner }: PeoplePanelProps) {
  const [leaving, setLeaving] = useState<ListedPerson>();
  const change = useAction(({ id, role }: { id: string } & ChangePersonBody) => api.patch(`/people/${id}`, { role }), {
    invalidates: ["/people", "/audit", "/me"],
  });
  return (
    <>
      {change.error && <Banner tone="error">{change.error.message}</Banner>}
      <Panel isFlush>
        <Table name="People" columns={["Name", "Role", "Last active", actionsColumn]}>
          {people.map((person) => (
            <tr key={person.id}>
              <th scope="row" class="is-stacked">
                {person.name} {person.isYou && <span class="hint">(you)</span>}
                <span class="soft">{person.email}</span>
              </th>
              <td>
                <Role
                  person={person}
                  isChangeable={isOwner && !(isLastOwner && person.role === "owner")}
                  onRole={(role) => change.run({ id: person.id, role })}
                />
              </td>
              <td>{person.seenAt ? <Ago iso={person.seenAt} /> : "Signed out"}</td>
              <td class="is-action">
                {(isOwner || person.isYou) && !(isLastOwner && person.role === "owner") && (
                  <Button onClick={() => setLeaving(person)}>{person.isYou ? "Leave" : "Remove"}</Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
      {leaving && <LeaveDialog person={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  );
}

interface RoleProps {
  person: ListedPerson;
  isChangeable: boolean;
  onRole(role: ListedPerson["role"]): void;
}

function Role({ person, isChangeable, onRole }: RoleProps) {
  if (!isChangeable) return <>{person.role === "owner" ? "Owner" : "Member"}</>;
  return (
    <select
      class="input is-small"
      aria-label={`Role of ${person.name}`}
      value={person.role}
      onChange={(event) => onRole(event.currentTarget.value as ListedPerson["role"])}
    >
      <option value="owner">Owner</option>
      <option value="member">Member</option>
    </select>
  );
}

const choices = [
  { value: "revoke", label: "Revoke", hint: "They stop within a second." },
  { value: "keep", label: "Keep", hint: "Programs that use them go on." },
] as const;

/** Removes a person, or lets the viewer leave. Their keys end unless somebody says otherwise. */
function LeaveDialog({ person, onClose }: { person: ListedPerson; onClose(): void }) {
  const { isYou, name } = person;
  const [keys, setKeys] = useState<(typeof choices)[number]["value"]>("revoke");
  const remove = useAction(async () => {
    await api.delete(`/people/${person.id}?keys=${keys}`);
    if (isYou) return location.assign("/dashboard/sign-in");
    invalidate("/people", "/audit", "/keys");
    announce(`${name} was removed`);
    onClose();
  });

  return (
    <Confirm
      title={isYou ? "Leave this account?" : `Remove ${name}?`}
      verb={isYou ? "Leave" : "Remove"}
      action={remove}
      onClose={onClose}
    >
      <p class="field">
        {isYou
          ? "You sign out here at once. An owner can invite you again."
          : "Their sessions in this account end within a second."}
      </p>
      {person.keys > 0 && (
        <Radios
          label={`${isYou ? "You" : "They"} made ${formatThings(person.keys, "key")}`}
          value={keys}
          choices={choices}
          onValue={(chosen) => setKeys(chosen)}
        />
      )}
    </Confirm>
  );
}
