import type { RefObject } from "preact";
import type { TraceRow } from "../../src/traces/traces.route.js";
import { Ago } from "../ui/ago.js";
import { addDays } from "../ui/day-range.js";
import { dayOf, formatDay, formatDuration, startOfDay } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { StatusDot } from "../ui/page.js";
import { type Head, TableFrame, TableHead } from "../ui/table.js";
import { Cost, Tokens } from "../ui/usage.js";
import { useNarrow } from "../ui/use-size.js";
import { groupByDay, isFailed } from "./rows.js";

interface TracesTableProps {
  rows: readonly TraceRow[];
  now: Date;
  retentionDays: number | undefined;
  body: RefObject<HTMLDivElement | null>;
}

const columns: readonly Head[] = [
  { text: "Status" },
  { text: "Trace" },
  { text: "Agent" },
  { text: "Duration", isNumber: true },
  { text: "Tokens", isNumber: true },
  { text: "Cost", isNumber: true },
  { text: "Started", isNumber: true },
];

export function TracesTable({ rows, now, retentionDays, body }: TracesTableProps) {
  const isNarrow = useNarrow(720);
  const shown = isNarrow ? columns.slice(0, 2) : columns;
  return (
    <div class="traces" ref={body}>
      <TableFrame name="Traces">
        <TableHead columns={shown} />
        {groupByDay(rows).map(({ day, rows: ofDay }) => (
          <tbody key={day}>
            <tr class="day">
              <th scope="rowgroup" colSpan={shown.length}>
                {dayLabel(day, now)}
                {isPast(day, now, retentionDays) && <span class="day-past">past {retentionDays} days</span>}
              </th>
            </tr>
            {ofDay.map((row) => (
              <Row key={row.id} row={row} now={now} isNarrow={isNarrow} />
            ))}
          </tbody>
        ))}
      </TableFrame>
    </div>
  );
}

function Row({ row, now, isNarrow }: { row: TraceRow; now: Date; isNarrow: boolean }) {
  const { id, agent_id, name, status, started_at, duration_ms, error, isMailed } = row;
  const ago = <Ago iso={started_at} now={now} />;
  const duration = duration_ms === null ? "" : formatDuration(duration_ms);
  return (
    <tr class="trace-row" data-id={id}>
      <td class="trace-status">
        <StatusDot state={status} />
      </td>
      <td class="trace-name">
        <div>
          <a class="cut" href={`/dashboard/traces/${id}`}>
            {name === "" ? "(no name)" : name}
          </a>
          {isMailed && (
            <span class="mailed" title="A mail went out">
              <Icon name="mail" />
              <span class="sr-only">A mail went out</span>
            </span>
          )}
          {isFailed(row) && error && <span class="trace-error is-error mono cut">{error}</span>}
        </div>
        <Contents of={row} />
        {isNarrow && (
          <div class="hint wrap">
            <span class="mono">{agent_id}</span> {duration} <Cost usd={row.cost_usd} /> {ago}
          </div>
        )}
      </td>
      {!isNarrow && (
        <>
          <td class="mono soft cut">{agent_id}</td>
          <td class="number">{duration}</td>
          <td class="number">
            <Tokens of={row} />
          </td>
          <td class="number">
            <Cost usd={row.cost_usd} />
          </td>
          <td class="number soft">{ago}</td>
        </>
      )}
    </tr>
  );
}

function Contents({ of: { name, user_id, environment, release, tags = [], ...row } }: { of: TraceRow }) {
  // Some senders name a trace by its first input.
  const preview = row.preview === name ? null : row.preview;
  const labels = [user_id, environment, release, ...tags.slice(0, shownTags)].filter(Boolean);
  if (!preview && labels.length === 0) return null;
  return (
    <div class="hint trace-contents">
      {labels.length > 0 && (
        <span class="trace-labels">
          {labels.map((label, at) => (
            <bdi key={`${at} ${label}`} class="trace-label cut">
              {label}
            </bdi>
          ))}
        </span>
      )}
      {preview && (
        <span class="cut" dir="auto">
          {preview}
        </span>
      )}
    </div>
  );
}

const shownTags = 3;

const dayMs = 86_400_000;

function dayLabel(day: string, now: Date): string {
  const today = dayOf(now);
  if (day === today) return "Today";
  if (day === addDays(today, -1)) return "Yesterday";
  return formatDay(day);
}

/** Whether retention removes the day's traces with its next round. */
function isPast(day: string, now: Date, retentionDays: number | undefined): boolean {
  return retentionDays !== undefined && startOfDay(addDays(day, 1)).getTime() < now.getTime() - retentionDays * dayMs;
}
