import type { MuteList } from "../../src/failures/failures.route.js";
import { Moment } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { formatCount } from "../ui/format.js";
import { Panel } from "../ui/panel.js";
import { Banner } from "../ui/states.js";
import { actionsColumn, Table } from "../ui/table.js";
import { useUnmute } from "./mute-dialog.js";

/** The active mutes with the alerts that stayed silent; nothing without one. */
export function MutesPanel({ mutes }: MuteList) {
  const unmute = useUnmute();
  const active = mutes.filter(({ state }) => state === "active");
  if (active.length === 0) return null;
  return (
    <Panel title="Muted" isFlush>
      {unmute.error && <Banner tone="error">{unmute.error.message}</Banner>}
      <div class="failures">
        <Table
          name="Muted failures"
          columns={["Failure", "Until", { text: "Silent alerts", isNumber: true }, actionsColumn]}
        >
          <tbody>
            {active.map(({ id, agent_id, span_name, error, until, muted }) => (
              <tr key={id}>
                <th scope="row" class="failure-text">
                  <span class="mono">{error ?? "No error text"}</span>
                  <span class="hint">
                    <span class="mono">{agent_id}</span>
                    {span_name !== null && ` · in ${span_name}`}
                  </span>
                </th>
                <td>{until === null ? "For good" : <Moment iso={until} />}</td>
                <td class="number">{formatCount(muted)}</td>
                <td class="is-action">
                  <Button isBusy={unmute.isBusy} onClick={() => void unmute.run(id)}>
                    Unmute
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      </div>
    </Panel>
  );
}
