import { useState } from "preact/hooks";
import type { SiteFunnels } from "../../src/goals/goals.route.js";
import { useQuery } from "../data/query.js";
import { funnelsPath } from "../statistics/address.js";
import { Change } from "../statistics/change.js";
import { ValueBar } from "../statistics/value-bar.js";
import { DialogButton } from "../ui/dialog.js";
import { formatCount, formatShare } from "../ui/format.js";
import { Loaded, Panel } from "../ui/page.js";
import { type Column, TableRows } from "../ui/table.js";
import { FunnelDialog } from "./funnel-dialog.js";
import { filtersOf, hasFilters, toggleFilters } from "./goal-filters.js";
import { ChangesMenu, type Funnel, type PartProps, polling } from "./parts.js";

const shownFunnels = 6;

type Bounds = SiteFunnels["stepsPerFunnel"];

export function Funnels(part: PartProps) {
  const { siteId, address, goals, mayAdd } = part;
  const funnels = useQuery<SiteFunnels>(funnelsPath(siteId, address), polling);
  const [isWhole, setWhole] = useState(false);
  const bounds = funnels.data?.stepsPerFunnel;
  const add = mayAdd && bounds && (
    <DialogButton
      text="Add funnel"
      data-adds="funnel"
      dialog={(close) => <FunnelDialog siteId={siteId} goals={goals} bounds={bounds} onClose={close} />}
    />
  );
  return (
    <Panel title="Funnels" isFlush actions={add}>
      <Loaded of={funnels} rows={3}>
        {({ funnels: all, stepsPerFunnel }) => (
          <>
            <p class="note goals-note">
              {all.length === 0
                ? `A funnel is ${stepsPerFunnel.min} to ${stepsPerFunnel.max} goals in order, and shows where visitors leave.`
                : "Visitors count for a step after all before it, in this order, on one UTC day."}
            </p>
            <div class="funnels" aria-busy={funnels.isPrevious}>
              {(isWhole ? all : all.slice(0, shownFunnels)).map((funnel) => (
                <FunnelTable key={funnel.id} funnel={funnel} bounds={stepsPerFunnel} {...part} />
              ))}
            </div>
            {all.length > shownFunnels && !isWhole && (
              <footer class="card-foot">
                <button type="button" class="text-button" onClick={() => setWhole(true)}>
                  All {all.length} funnels
                </button>
              </footer>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function FunnelTable({ funnel, bounds, ...part }: PartProps & { funnel: Funnel; bounds: Bounds }) {
  const { siteId, goals, isOwner } = part;
  const rows = funnel.steps.map((step, at) => ({
    ...step,
    at,
    before: funnel.steps[at - 1],
    past: funnel.before?.[at],
  }));
  return (
    <section class="funnel">
      <header class="row funnel-head">
        <h3 dir="auto" title={funnel.name}>
          {funnel.name}
        </h3>
        {isOwner && (
          <ChangesMenu
            siteId={siteId}
            kind="funnel"
            item={funnel}
            dialog={(item, close) => (
              <FunnelDialog siteId={siteId} goals={goals} bounds={bounds} funnel={item} onClose={close} />
            )}
          />
        )}
      </header>
      <table class="stat-table" aria-label={funnel.name}>
        <TableRows columns={columnsOf(part)} rows={rows} keyOf={({ at }) => String(at)} narrowPx={640} />
      </table>
    </section>
  );
}

type Step = Funnel["steps"][number];
type Row = Step & { at: number; before: Step | undefined; past: Step | undefined };

function columnsOf({ goals, filters, onFilters }: PartProps): Column<Row>[] {
  return [
    {
      text: "Step",
      cell({ goalId, name, at, before, conversionRate }) {
        const goal = goals.find(({ id }) => id === goalId);
        const own = goal && filtersOf(goal);
        return (
          <div class="funnel-step">
            <span class="bar funnel-lost" style={{ width: `${(before?.conversionRate ?? 0) * 100}%` }} />
            <ValueBar
              share={conversionRate}
              label={`${at + 1}. ${name}`}
              isFiltered={own !== undefined && hasFilters(filters, own)}
              onPick={own && (() => onFilters(toggleFilters(filters, own)))}
            />
          </div>
        );
      },
    },
    {
      text: "Lost",
      isNumber: true,
      class: "soft",
      cell: ({ before, visitors, dropOff }) =>
        before && (
          <span title={`${formatCount(before.visitors - visitors)} visitors left before this step`}>
            {formatShare(dropOff)}
          </span>
        ),
    },
    { text: "Visitors", isNumber: true, cell: ({ visitors }) => formatCount(visitors) },
    {
      text: "Change of visitors",
      sign: "±",
      isNumber: true,
      isWide: true,
      cell: ({ visitors, past }) => <Change value={visitors} before={past?.visitors} />,
    },
    {
      text: "Share of the first step",
      sign: "%",
      isNumber: true,
      class: "soft",
      cell: ({ conversionRate }) => formatShare(conversionRate),
    },
  ];
}
