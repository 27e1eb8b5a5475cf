import { useState } from "preact/hooks";
import type { ChangePersonBody, ListedPerson } from "../../src/people/people.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { Panel } from "../ui/panel.js";
import { Banner } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";
import { LeaveDialog } from "./leave-dialog.js";

interface PeoplePanelProps {
  people: readonly ListedPerson[];
  isOwner: boolean;
  isLastOwner: boolean;
}

export function PeoplePanel({ people, isOwner, isLastOwner }: PeoplePanelProps) {
  const [leaving, setLeaving] = useState<ListedPerson>();
  const change = useAction(({ id, role }: { id: string } & ChangePersonBody) => api.patch(`/people/${id}`, { role }), {
    invalidates: ["/people", "/audit", "/me"],
  });
  return (
    <>
      {change.error && <Banner tone="error">{change.error.message}</Banner>}
      <Panel isFlush>
        <Table name="People" columns={["Name", "Role", "Last active", actionsColumn]}>
          <tbody>
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
                    onRole={(role) => void change.run({ id: person.id, role })}
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
          </tbody>
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
