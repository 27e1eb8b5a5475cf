import { useState } from "preact/hooks";
import type { AuditLine, AuditList } from "../../src/people/people.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { Panel } from "../ui/panel.js";
import { ErrorNote } from "../ui/states.js";
import { Table } from "../ui/table.js";

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
export function AuditPanel() {
  const latest = useQuery<AuditList>("/audit");
  const [older, setOlder] = useState<readonly AuditList[]>([]);
  const first = latest.data;
  const lastPage = older.at(-1) ?? first;
  const more = useAction(async (before: string) => {
    const page = await api.get<AuditList>(`/audit?before=${before}`);
    setOlder((pages) => [...pages, page]);
  });
  if (latest.error && !first) return <ErrorNote error={latest.error} onRetry={latest.refetch} />;
  if (!first || first.entries.length === 0) return null;
  const lines = uniqueLines([first, ...older]);
  const lastId = lines.at(-1)?.id;
  return (
    <Panel title="Audit log" isFlush>
      <Table name="Audit log" columns={["Action", "By", { text: "When", isNumber: true }]}>
        <tbody>
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
        </tbody>
      </Table>
      {lastPage?.hasMore && lastId !== undefined && (
        <Button look="quiet" isBusy={more.isBusy} onClick={() => void more.run(lastId)}>
          Show more
        </Button>
      )}
    </Panel>
  );
}

/** The latest page grows at its head, and so may overlap with older ones. */
function uniqueLines(pages: readonly AuditList[]): AuditLine[] {
  return [...new Map(pages.flatMap(({ entries }) => entries).map((line) => [line.id, line])).values()];
}
