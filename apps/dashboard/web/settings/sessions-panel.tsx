import type { SessionList } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { Panel } from "../ui/panel.js";
import { Banner, ErrorNote } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";

/** Where the person is signed in, each with "End". */
export function SessionsPanel() {
  const sessions = useQuery<SessionList>("/me/sessions");
  const end = useAction((id: string) => api.delete(`/me/sessions${id === "others" ? "" : `/${id}`}`), {
    invalidates: ["/me/sessions"],
  });
  const listed = sessions.data?.sessions ?? [];
  const actions = listed.length > 1 && (
    <Button isBusy={end.isBusy} onClick={() => void end.run("others")}>
      End all others
    </Button>
  );
  return (
    <Panel title="Sessions" isFlush actions={actions}>
      {sessions.error && !sessions.data && <ErrorNote error={sessions.error} onRetry={sessions.refetch} />}
      {end.error && <Banner tone="error">{end.error.message}</Banner>}
      <Table name="Sessions" columns={["Browser", "Signed in", "Last used", actionsColumn]}>
        <tbody>
          {listed.map(({ id, client, createdAt, seenAt, isCurrent }) => (
            <tr key={id}>
              <th scope="row">{client}</th>
              <td>
                <Ago iso={createdAt} />
              </td>
              <td>{isCurrent ? "This one" : <Ago iso={seenAt} />}</td>
              <td class="is-action">
                {!isCurrent && (
                  <Button isBusy={end.isBusy} onClick={() => void end.run(id)}>
                    End
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Panel>
  );
}
