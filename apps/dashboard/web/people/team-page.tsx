import { useState } from "preact/hooks";
import type { ListedPerson, PeopleList } from "../../src/people/people.route.js";
import { useMe } from "../data/me.js";
import { useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { formatThings } from "../ui/format.js";
import { Page } from "../ui/page.js";
import { Banner, ErrorNote, Skeleton } from "../ui/states.js";
import { AuditPanel } from "./audit-panel.js";
import { InvitationsPanel } from "./invitations-panel.js";
import { InviteDialog } from "./invite-dialog.js";
import { PeoplePanel } from "./people-panel.js";

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
      {people.error && !people.data && <ErrorNote error={people.error} onRetry={people.refetch} />}
      {people.isLoading && <Skeleton rows={3} />}
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
