import "./goals.css";
import { useState } from "preact/hooks";
import type { SiteGoals } from "../../src/goals/goals.route.js";
import { useMayChange, useMe, useQuery } from "../data/query.js";
import { type Address, goalsPath } from "../statistics/address.js";
import { Change } from "../statistics/change.js";
import type { PageFilters } from "../statistics/filters.js";
import { ValueBar } from "../statistics/value-bar.js";
import { DialogButton } from "../ui/dialog.js";
import { formatCount, formatRevenue, formatShare, formatThings } from "../ui/format.js";
import { Empty, Loaded, Panel } from "../ui/page.js";
import { type Column, TableRows } from "../ui/table.js";
import { Funnels } from "./funnels.js";
import { GoalDialog } from "./goal-dialog.js";
import { filtersOf, type Goal, hasFilters, toggleFilters } from "./goal-filters.js";
import { changesColumn, type PartProps, polling } from "./parts.js";

export interface GoalsProps extends PageFilters {
  siteId: string;
  /** Of the figures that are shown: those of the goals come after them. */
  address: Address;
}

/** The goals and funnels of a site. They have requests of their own, so that they never keep the page's figures waiting. */
export function Goals({ siteId, address, ...page }: GoalsProps) {
  const goals = useQuery<SiteGoals>(goalsPath(siteId, address), polling);
  const isOwner = useMe().data?.role === "owner";
  const all = goals.data?.goals ?? [];
  const mayAdd = useMayChange();
  const part: PartProps = { siteId, address, isOwner, mayAdd, goals: all, ...page };
  return (
    <>
      <Panel
        title="Goals"
        isFlush
        actions={
          goals.data &&
          mayAdd && (
            <DialogButton
              text="Add goal"
              data-adds="goal"
              look={all.length === 0 ? "main" : undefined}
              dialog={(close) => <GoalDialog siteId={siteId} address={address} onClose={close} />}
            />
          )
        }
      >
        <Loaded of={goals} rows={3}>
          {({ coverage }) =>
            all.length === 0 ? (
              <Empty
                title="No goals yet"
                text="A goal is what visitors should do: view a page, or send a custom event, such as a sign-up. It counts past visits, too. Goals in order make a funnel."
              />
            ) : (
              <div aria-busy={goals.isPrevious}>
                {coverage && <p class="note goals-note">{coverageNote(coverage)}</p>}
                <GoalsTable {...part} />
              </div>
            )
          }
        </Loaded>
      </Panel>
      {all.length > 0 && <Funnels {...part} />}
    </>
  );
}

function coverageNote({ from, to }: NonNullable<SiteGoals["coverage"]>): string {
  if (from === null) return "Goals need events, and none of these days are kept.";
  return `Goals need events, which are kept of ${from} to ${to}.`;
}

const shownGoals = 10;

function GoalsTable(part: PartProps) {
  const { goals, siteId, address } = part;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? goals : goals.slice(0, shownGoals);
  const largest = Math.max(1, ...goals.map(({ visitors }) => visitors));
  const changes = changesColumn<Goal>({
    ...part,
    kind: "goal",
    dialog: (goal, close) => <GoalDialog siteId={siteId} address={address} goal={goal} onClose={close} />,
  });
  return (
    <>
      <table class="stat-table goals" aria-label="Goals">
        <TableRows columns={[nameColumn(part, largest), ...figures, ...changes]} rows={shown} narrowPx={760} />
      </table>
      {goals.length > shown.length && (
        <footer class="card-foot">
          <button type="button" class="text-button" onClick={() => setWhole(true)}>
            All {goals.length} goals
          </button>
        </footer>
      )}
    </>
  );
}

function nameColumn({ filters, onFilters }: PageFilters, largest: number): Column<Goal> {
  return {
    text: "Goal",
    class: "goal-name",
    cell(goal, isNarrow) {
      const own = filtersOf(goal);
      return (
        <>
          <ValueBar
            share={goal.visitors / largest}
            label={goal.name}
            isMono={goal.name === goal.page}
            isFiltered={own !== undefined && hasFilters(filters, own)}
            onPick={own && (() => onFilters(toggleFilters(filters, own)))}
          />
          {isNarrow && (
            <span class="soft goal-below">
              {[formatThings(goal.count, "conversion"), formatRevenue(goal.revenue ?? [])].filter(Boolean).join(", ")}
            </span>
          )}
        </>
      );
    },
  };
}

function RuleText({ event, property, value, page }: Goal) {
  if (page !== null) return <span class="mono">{page}</span>;
  return (
    <>
      {event}
      {property !== null && `, ${property} = ${value}`}
    </>
  );
}

const figures: readonly Column<Goal>[] = [
  {
    text: "Counts",
    isWide: true,
    class: "soft goal-rule",
    cell: (goal) => (
      <div class="cut" title={goal.page ?? goal.event ?? ""}>
        {goal.page === null ? "Event " : "Page "}
        <RuleText {...goal} />
      </div>
    ),
  },
  { text: "Conversions", isNumber: true, isWide: true, class: "soft", cell: ({ count }) => formatCount(count) },
  {
    text: "Revenue",
    isNumber: true,
    isWide: true,
    class: "goal-revenue",
    cell: ({ revenue = [] }) => revenue.map((sum) => <div key={sum.currency}>{formatRevenue([sum])}</div>),
  },
  { text: "Visitors", isNumber: true, cell: ({ visitors }) => formatCount(visitors) },
  {
    text: "Change of visitors",
    sign: "±",
    isNumber: true,
    isWide: true,
    cell: ({ visitors, before }) => <Change value={visitors} before={before?.visitors} />,
  },
  {
    text: "Share of all visitors",
    sign: "%",
    isNumber: true,
    cell: ({ conversionRate }) => formatShare(conversionRate),
  },
];
