import type { Invitation } from "../../src/people/people.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { Ago, MomentDay } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { Panel } from "../ui/panel.js";
import { Banner } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";

export function InvitationsPanel({ invitations }: { invitations: readonly Invitation[] }) {
  const takeBack = useAction((id: string) => api.delete(`/invitations/${id}`), { invalidates: ["/people", "/audit"] });
  return (
    <Panel title="Invitations" isFlush>
      {takeBack.error && <Banner tone="error">{takeBack.error.message}</Banner>}
      <Table name="Invitations" columns={["Email", "Role", "Sent", "Ends", actionsColumn]}>
        <tbody>
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
                <Button isBusy={takeBack.isBusy} onClick={() => void takeBack.run(id)}>
                  Take back
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Panel>
  );
}
