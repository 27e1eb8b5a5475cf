import { lists } from "@waymark/web-stats/lists";
import { useState } from "preact/hooks";
import type { SiteStats } from "../../src/statistics/statistics.route.js";
import { useQuery } from "../data/query.js";
import { ButtonLink } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/form.js";
import { formatCount, formatShare, formatThings } from "../ui/format.js";
import { ErrorNote, Skeleton } from "../ui/page.js";
import { type Column, TableRows } from "../ui/table.js";
import { Tabs } from "../ui/tabs.js";
import { type Address, listPath, type Source } from "./address.js";
import { type CardList, type cards, firstRows, labelOf, type Row, toRows } from "./cards.js";
import { hasFilter, type PageFilters, toggleFilter } from "./filters.js";
import { ValueBar } from "./value-bar.js";

const shownRows = 9;

interface ContentProps extends Pick<PageFilters, "onFilters"> {
  source: Source;
  stats: SiteStats;
  address: Address;
}

export function ListCard({ card, ...page }: ContentProps & { card: (typeof cards)[number] }) {
  const [selected, select] = useState<string>(card.lists[0].list);
  const list = card.lists.find((each) => each.list === selected) ?? card.lists[0];
  const tabs = card.lists.map(({ list: id, label }) => ({ id: id as string, label }));
  const content = <CardContent key={list.list} list={list} {...page} />;
  return (
    <section class="panel is-flush stat-card" aria-label={card.name}>
      <h2 class={tabs.length > 1 ? "sr-only" : "card-title"}>{card.name}</h2>
      {tabs.length > 1 ? (
        <Tabs label={card.name} tabs={tabs} selected={selected} onSelect={select}>
          {content}
        </Tabs>
      ) : (
        content
      )}
    </section>
  );
}

function CardContent({ list, ...page }: ContentProps & { list: CardList }) {
  const { source, stats, address, onFilters } = page;
  const [isOpen, setOpen] = useState(false);
  const rows = toRows(list.list, stats[list.list]);
  const shown = firstRows(rows, shownRows);
  const plural = list.label.toLowerCase().replace(/^utm/, "UTM");
  if (rows.length === 0) {
    return (
      <div class="card-body">
        <EmptyTable label={list.label} text={`No ${plural} in ${placeOf(address)}`} />
      </div>
    );
  }
  return (
    <div class="card-body">
      <ListTable
        list={list}
        rows={shown}
        visitors={stats.uniqueVisitors}
        filters={address.filters}
        onFilters={onFilters}
      />
      <OtherNote rows={shown} />
      <footer class="card-foot">
        <button type="button" class="text-button" onClick={() => setOpen(true)}>
          All {plural}
        </button>
        <a class="text-button" href={csvLink(source, address, list)} download aria-label={`CSV of ${plural}`}>
          CSV
        </a>
      </footer>
      {isOpen && <AllDialog list={list} plural={plural} onClose={() => setOpen(false)} {...page} />}
    </div>
  );
}

export function placeOf({ filters }: Address): string {
  return filters === "" ? "this range" : "these visits";
}

export function EmptyTable({ label, text }: { label: string; text: string }) {
  return (
    <table class="stat-table" aria-label={label}>
      <tbody>
        <tr>
          <td class="soft">{text}</td>
        </tr>
      </tbody>
    </table>
  );
}

export function csvLink(source: Source, address: Address, { list }: Pick<CardList, "list">): string {
  return `/dashboard/api${listPath(source, address, { list, isCsv: true })}`;
}

interface DialogProps extends ContentProps {
  list: CardList;
  plural: string;
  onClose(): void;
}

function AllDialog({ list, plural, source, address, onFilters, onClose }: DialogProps) {
  const [search, setSearch] = useState("");
  const { data, error, refetch } = useQuery<SiteStats>(listPath(source, address, { list: list.list, isCsv: false }));
  const rows = toRows(list.list, data?.[list.list]);
  const wanted = search.trim().toLowerCase();
  const found = rows.filter(({ value }) =>
    [value, labelOf(list.list, value)].some((text) => text.toLowerCase().includes(wanted)),
  );
  const pick = (filters: string) => {
    onClose();
    onFilters(filters);
  };
  const actions = <ButtonLink text="CSV" href={csvLink(source, address, list)} download icon="download" />;
  return (
    <Dialog title={`All ${plural}`} onClose={onClose} actions={actions} isWide>
      <TextField label="Search" name="search" value={search} onValue={setSearch} autocomplete="off" />
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton rows={9} />}
      {data && (
        <>
          <p class="note" role="status">
            {formatThings(found.length, "row")}
            {rows.length >= 1000 ? ": a list shows at most 1,000" : ""}
          </p>
          <div class="all-rows">
            <ListTable
              list={list}
              rows={found}
              visitors={data.uniqueVisitors}
              filters={address.filters}
              onFilters={pick}
            />
          </div>
          <OtherNote rows={rows} />
        </>
      )}
    </Dialog>
  );
}

interface ListTableProps extends PageFilters {
  list: CardList;
  rows: readonly Row[];
  visitors: number;
}

function ListTable({ list, rows, visitors, filters, onFilters }: ListTableProps) {
  const largest = Math.max(1, ...rows.map((row) => row.visitors));
  const hasViews = rows.some(({ pageviews }) => pageviews !== undefined);
  const dimension = lists[list.list].filter;
  const views: Column<Row> = {
    text: "Views",
    isNumber: true,
    class: "soft",
    cell: ({ pageviews = 0 }) => formatCount(pageviews),
  };
  const columns: readonly Column<Row>[] = [
    {
      text: list.label,
      cell: ({ value, visitors: own, isOther }) => (
        <ValueBar
          share={own / largest}
          label={labelOf(list.list, value)}
          code={value}
          isMono={list.isMono && !isOther}
          isFiltered={hasFilter(filters, dimension, value)}
          onPick={isOther ? undefined : () => onFilters(toggleFilter(filters, dimension, value))}
        />
      ),
    },
    ...(hasViews ? [views] : []),
    { text: "Visitors", isNumber: true, cell: (row) => formatCount(row.visitors) },
    {
      text: "Share of visitors",
      sign: "%",
      isNumber: true,
      class: "soft",
      cell: (row) => visitors > 0 && formatShare(row.visitors / visitors),
    },
  ];
  return (
    <table class="stat-table" aria-label={list.label}>
      <TableRows columns={columns} rows={rows} keyOf={({ value }) => value} />
    </table>
  );
}

function OtherNote({ rows }: { rows: readonly Row[] }) {
  if (!rows.some(({ isOther }) => isOther)) return null;
  return (
    <p class="note other-note">
      A day keeps 10,000 values per list; <em>(other)</em> counts the rest.
    </p>
  );
}
