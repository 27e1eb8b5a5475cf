import { lists } from "@waymark/web-stats/lists";
import { formatCount, formatShare } from "../ui/format.js";
import { TableHead } from "../ui/table.js";
import { type CardList, labelOf, type Row } from "./cards.js";
import { hasFilter, type PageFilters, toggleFilter } from "./filters.js";
import { ValueBar } from "./value-bar.js";

interface ListTableProps extends PageFilters {
  list: CardList;
  rows: readonly Row[];
  /** Of the range; shares are parts of it. */
  visitors: number;
}

/** A list as a table: a bar behind each value, its figures and its share of the visitors. */
export function ListTable({ list, rows, visitors, ...page }: ListTableProps) {
  const largest = Math.max(1, ...rows.map((row) => row.visitors));
  const hasViews = rows.some(({ pageviews }) => pageviews !== undefined);
  return (
    <table class="stat-table" aria-label={list.label}>
      <TableHead
        columns={[
          list.label,
          ...(hasViews ? [{ text: "Views", isNumber: true }] : []),
          { text: "Visitors", isNumber: true },
          { text: "Share of visitors", sign: "%", isNumber: true },
        ]}
      />
      <tbody>
        {rows.map((row) => (
          <tr key={row.value}>
            <th scope="row">
              <ValueCell list={list} row={row} share={row.visitors / largest} {...page} />
            </th>
            {hasViews && <td class="number soft">{formatCount(row.pageviews ?? 0)}</td>}
            <td class="number">{formatCount(row.visitors)}</td>
            <td class="number soft">{visitors > 0 ? formatShare(row.visitors / visitors) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type ValueProps = PageFilters & { list: CardList; row: Row; share: number };

function ValueCell({ list, row, share, filters, onFilters }: ValueProps) {
  const label = labelOf(list.list, row.value);
  const dimension = lists[list.list].filter;
  const pick = () => onFilters(toggleFilter(filters, dimension, row.value));
  return (
    <ValueBar
      share={share}
      label={label}
      isMono={list.isMono && !row.isOther}
      isFiltered={hasFilter(filters, dimension, row.value)}
      onPick={row.isOther ? undefined : pick}
    >
      {label !== row.value && (
        <span class="code-chip" aria-hidden="true">
          {row.value}
        </span>
      )}
    </ValueBar>
  );
}

/** Why a list has `(other)`. */
export function OtherNote({ rows }: { rows: readonly Row[] }) {
  if (!rows.some(({ isOther }) => isOther)) return null;
  return (
    <p class="note other-note">
      A day keeps 10,000 values per list; <em>(other)</em> counts the rest.
    </p>
  );
}
