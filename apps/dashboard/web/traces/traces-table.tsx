import type { ComponentChildren, RefObject } from "preact";
import type { TraceRow } from "../../src/traces/traces.route.js";
import { Ago } from "../ui/ago.js";
import { type Choice, ChoiceBox } from "../ui/choice.js";
import { addDays } from "../ui/day-range.js";
import { dayOf, formatCount, formatDay, formatDuration, startOfDay } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { StatusDot } from "../ui/page.js";
import { type Head, TableFrame, TableHead } from "../ui/table.js";
import { Cost, Tokens } from "../ui/usage.js";
import { useNarrow } from "../ui/use-size.js";
import { groupByDay, isFailed } from "./rows.js";

interface TraceColumn extends Head {
  widthPx: number;
  class?: string;
  cell(row: TraceRow): ComponentChildren;
  /** The part of the list's `include` that it needs beyond the usual ones. */
  needs?: "models" | "scores";
}

const label = (text: string, cell: TraceColumn["cell"]): TraceColumn => ({
  text,
  widthPx: 132,
  class: "soft cut",
  cell,
});

/** The columns between a trace's name and its start. */
export const traceColumns = {
  agent: { ...label("Agent", ({ agent_id }) => agent_id), class: "mono soft cut" },
  duration: {
    text: "Duration",
    widthPx: 106,
    isNumber: true,
    cell: ({ duration_ms: ms }) => (ms === null ? "" : formatDuration(ms)),
  },
  tokens: { text: "Tokens", widthPx: 76, isNumber: true, cell: (row) => <Tokens of={row} /> },
  cost: { text: "Cost", widthPx: 104, isNumber: true, cell: ({ cost_usd }) => <Cost usd={cost_usd} /> },
  model: { ...label("Model", ({ models }) => models?.join(", ")), needs: "models" },
  score: {
    ...label("Score", ({ scores }) => scores?.map(({ name, value }) => `${name}: ${textOf(value)}`).join(", ")),
    needs: "scores",
  },
  user: label("User", ({ user_id }) => user_id),
  conversation: label("Conversation", ({ session_id }) => session_id),
  environment: label("Environment", ({ environment }) => environment),
  release: label("Release", ({ release }) => release),
  tags: label("Tags", ({ tags }) => tags?.join(", ")),
} as const satisfies Record<string, TraceColumn>;

export type ColumnName = keyof typeof traceColumns;

export const usualColumns: readonly ColumnName[] = ["agent", "duration", "tokens", "cost"];

function textOf(value: number | boolean | string): string {
  if (typeof value === "number") return formatCount(value);
  return typeof value === "boolean" ? (value ? "yes" : "no") : value;
}

interface TracesTableProps {
  rows: readonly TraceRow[];
  now: Date;
  retentionDays: number | undefined;
  body: RefObject<HTMLDivElement | null>;
  columns?: readonly ColumnName[];
  /** Of rows, where a person may choose some. */
  choice?: Choice | undefined;
}

const [boxPx, statusPx, namePx, startedPx] = [34, 96, 230, 114];

export function TracesTable({ rows, now, retentionDays, body, columns = usualColumns, choice }: TracesTableProps) {
  const isNarrow = useNarrow(720);
  const own = isNarrow ? [] : columns.map((name): TraceColumn => traceColumns[name]);
  const started = isNarrow ? [] : [{ text: "Started", isNumber: true, widthPx: startedPx }];
  const boxes = choice ? [{ text: "Choose", sign: "", widthPx: boxPx }] : [];
  const heads = [
    ...boxes,
    { text: "Status", widthPx: statusPx },
    { text: "Trace", widthPx: undefined },
    ...own,
    ...started,
  ];
  const widths = heads.map(({ widthPx }) => widthPx);
  const leastPx = isNarrow ? 0 : widths.reduce<number>((sum, px) => sum + (px ?? namePx), 0);
  return (
    <div class="traces" ref={body} style={{ "--least": `${leastPx}px` }}>
      <TableFrame name="Traces">
        <colgroup>
          {widths.map((px, at) => (
            <col key={at} style={px === undefined ? {} : { width: `${px}px` }} />
          ))}
        </colgroup>
        <TableHead columns={heads} />
        {groupByDay(rows).map(({ day, rows: ofDay }) => (
          <tbody key={day}>
            <tr class="day">
              <th scope="rowgroup" colSpan={heads.length}>
                {dayLabel(day, now)}
                {isPast(day, now, retentionDays) && <span class="day-past">past {retentionDays} days</span>}
              </th>
            </tr>
            {ofDay.map((row) => (
              <Row key={row.id} row={row} now={now} isNarrow={isNarrow} columns={own} choice={choice} />
            ))}
          </tbody>
        ))}
      </TableFrame>
    </div>
  );
}

interface RowProps {
  row: TraceRow;
  now: Date;
  isNarrow: boolean;
  columns: readonly TraceColumn[];
  choice: Choice | undefined;
}

function Row({ row, now, isNarrow, columns, choice }: RowProps) {
  const { id, agent_id, name, status, started_at, error, isMailed } = row;
  const ago = <Ago iso={started_at} now={now} />;
  return (
    <tr class="trace-row" data-id={id}>
      {choice && (
        <td class="trace-choice">
          <ChoiceBox choice={choice} id={id} name={name || "(no name)"} />
        </td>
      )}
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
        <Contents of={row} columns={columns} />
        {isNarrow && (
          <div class="hint wrap">
            <span class="mono">{agent_id}</span> {traceColumns.duration.cell(row)} <Cost usd={row.cost_usd} /> {ago}
          </div>
        )}
      </td>
      {columns.map(({ text, isNumber, class: look, cell }) => (
        <td key={text} class={isNumber ? "number" : look} dir={isNumber ? undefined : "auto"}>
          {cell(row)}
        </td>
      ))}
      {!isNarrow && <td class="number soft">{ago}</td>}
    </tr>
  );
}

const labelColumns = ["user", "environment", "release"] as const;

/** Labels without a column of their own, and the beginning of the input. */
function Contents({ of: row, columns }: { of: TraceRow; columns: readonly TraceColumn[] }) {
  // Some senders name a trace by its first input.
  const preview = row.preview === row.name ? null : row.preview;
  const isShown = (name: ColumnName) => columns.includes(traceColumns[name]);
  const tags = isShown("tags") ? [] : (row.tags ?? []).slice(0, shownTags);
  const others = labelColumns.filter((name) => !isShown(name)).map((name) => traceColumns[name].cell(row));
  const labels = [...others, ...tags].filter(Boolean);
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
