import "./statistics.css";
import type { FunctionComponent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SiteList } from "../../src/sites/sites.route.js";
import type { SiteEvents, SiteRealtime, SiteStats } from "../../src/statistics/statistics.route.js";
import { useQuery } from "../data/query.js";
import type { GoalsProps } from "../goals/goals.js";
import { Snippet } from "../sites/site-setup.js";
import { announce } from "../ui/announce.js";
import { ButtonLink } from "../ui/button.js";
import { formatCount, formatDuration, formatShare } from "../ui/format.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { Banner, Empty, ErrorNote, Page, Panel, Skeleton, StatusDot } from "../ui/page.js";
import { keepLastSite } from "../ui/preferences.js";
import {
  type Address,
  eventsPath,
  type FigureName,
  figureNames,
  realtimePath,
  type Source,
  statsPath,
  writeAddress,
} from "./address.js";
import { cards } from "./cards.js";
import { Change } from "./change.js";
import { Chart, type ChartLook, FigureButtons } from "./chart.js";
import { figureOf, toCurve } from "./chart-shape.js";
import { EventParts } from "./event-parts.js";
import { FilterRefusal, StatisticsChips } from "./filter-chips.js";
import type { PageFilters } from "./filters.js";
import { csvLink, EmptyTable, ListCard, placeOf } from "./list-card.js";
import { MissingSite } from "./missing-site.js";
import { CompareControl, RangeControls, RangeNote, useAddress } from "./range-controls.js";

const pollMs = 60_000;
const waitPollMs = 3_000;

export function StatisticsPage() {
  const { source, address, change, onFilters } = useAddress();
  const stats = useSiteStats(source, address);
  const { filters } = address;
  const { data, error } = stats;
  const refusal = error?.fields["filters"];
  if (error?.status === 404) return <MissingSite source={source} />;
  const isWaiting = data !== undefined && !data.hasEvents;
  return (
    <Page
      title={data?.site.domain ?? "Statistics"}
      aside={data && <SiteAside source={source} address={address} isLive={!isWaiting} />}
      note={data && !isWaiting && <RangeNote stats={data} address={address} />}
      actions={!isWaiting && <Actions source={source} address={address} days={data?.days} onAddress={change} />}
    >
      {!isWaiting && <StatisticsChips filters={filters} onFilters={onFilters} />}
      {refusal && <FilterRefusal text={refusal} />}
      {error && !refusal && <ErrorNote error={error} onRetry={stats.refetch} />}
      {!data && !error && <Skeleton rows={12} />}
      {isWaiting && (source.siteId === undefined ? <NoVisits /> : <FirstVisit domain={data.site.domain} />)}
      {data && !isWaiting && (
        <div aria-busy={stats.isPrevious}>
          <Content source={source} stats={data} isPrevious={stats.isPrevious} address={address} onAddress={change} />
        </div>
      )}
    </Page>
  );
}

/** Asks for the statistics: often until the first visit, and says when it came. */
function useSiteStats(source: Source, address: Address) {
  const path = statsPath(source, address);
  const [isWaiting, setWaiting] = useState(false);
  const stats = useQuery<SiteStats>(path, { keepPrevious: true, pollMs: isWaiting ? waitPollMs : pollMs });
  const hasEvents = stats.data?.hasEvents;
  useEffect(() => {
    if (hasEvents && isWaiting) announce("The first visit arrived");
    setWaiting(hasEvents === false);
  }, [hasEvents]);
  const known = stats.data && source.siteId;
  useEffect(() => {
    if (known) keepLastSite(known);
  }, [known]);
  return stats;
}

interface PartProps {
  source: Source;
  address: Address;
  onAddress(address: Address): void;
}

function Actions({ source, days, ...part }: PartProps & { days: SiteStats["days"] | undefined }) {
  const csv = csvLink(source, part.address, { list: "topPages" });
  return (
    <>
      <RangeControls {...part} days={days} />
      <CompareControl {...part} />
      {source.siteId !== undefined && (
        <ButtonLink text="AI" href={`${source.page}/ai${writeAddress({ ...part.address, filters: "" })}`} />
      )}
      <ButtonLink text="CSV" href={csv} download title="The pages of this range, up to 1,000 rows" />
    </>
  );
}

function Content({
  source,
  stats,
  isPrevious,
  address,
  onAddress,
}: PartProps & { stats: SiteStats; isPrevious: boolean }) {
  const { overview, now } = stats;
  const { figure, filters } = address;
  const onFilters = (next: string) => onAddress({ ...address, filters: next });
  const shown = useRef(address);
  if (!isPrevious) shown.current = address;
  const curve = useMemo(() => toCurve(overview, figure, now), [overview, figure, now]);
  const { totals, comparison } = overview;
  const figures = figureNames.map((name) => ({
    name,
    label: looks[name].label,
    value: looks[name].format(figureOf(totals, name)),
    change: (
      <Change
        value={figureOf(totals, name)}
        before={comparison && figureOf(comparison.totals, name)}
        better={looks[name].better}
      />
    ),
  }));
  return (
    <>
      <section class="panel is-flush" aria-label="Over time">
        <FigureButtons
          figures={figures}
          selected={figure}
          onSelect={(name) => onAddress({ ...address, figure: name })}
        />
        <Chart curve={curve} look={chartLookOf(figure)} />
      </section>
      <div class="stat-cards">
        {cards.map((card) => (
          <ListCard key={card.name} card={card} source={source} stats={stats} address={address} onFilters={onFilters} />
        ))}
      </div>
      <EventsCard source={source} address={address} filters={filters} onFilters={onFilters} />
      {source.siteId !== undefined && (
        <GoalsPart siteId={source.siteId} address={shown.current} filters={filters} onFilters={onFilters} />
      )}
    </>
  );
}

/** Goals and funnels load after the page's figures. */
function GoalsPart(page: GoalsProps) {
  const [Goals, setGoals] = useState<FunctionComponent<GoalsProps>>();
  useEffect(() => {
    import("../goals/goals.js").then(
      (module) => setGoals(() => module.Goals),
      () => setGoals(() => MissingGoals),
    );
  }, []);
  return Goals ? <Goals {...page} /> : null;
}

function MissingGoals() {
  return <Banner>The goals did not load: Waymark was updated, or the connection broke. Reload the page.</Banner>;
}

/** Custom events have a request of their own: many properties never keep the figures waiting. */
function EventsCard({ source, address, ...page }: PageFilters & Pick<PartProps, "source" | "address">) {
  const { data, error, refetch } = useQuery<SiteEvents>(eventsPath(source, address), { keepPrevious: true, pollMs });
  const all = `${source.page}/events${writeAddress(address)}`;
  return (
    <section class="panel is-flush" aria-label="Custom events">
      <h2 class="card-title">Custom events</h2>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {data && data.events.length === 0 && (
        <EmptyTable label="Event names" text={`No custom events in ${placeOf(address)}`} />
      )}
      {data && data.events.length > 0 && (
        <>
          <EventParts events={data.events} limit={9} {...page} />
          <footer class="card-foot">
            <a class="text-button" href={all}>
              All custom events
            </a>
          </footer>
        </>
      )}
    </section>
  );
}

function FirstVisit({ domain }: { domain: string }) {
  return (
    <div class="panel">
      <Snippet domain={domain} />
      <p class="row waiting-line" role="status">
        <StatusDot state="running">Waiting for the first visit</StatusDot>
      </p>
    </div>
  );
}

function NoVisits() {
  return (
    <Panel>
      <Empty title="No visits yet" text="The figures appear here with the first one." />
    </Panel>
  );
}

const nowPollMs = 10_000;

type AsideProps = Pick<PartProps, "source" | "address"> & { isLive: boolean };

function SiteAside({ source, address, isLive }: AsideProps) {
  const { siteId } = source;
  return (
    <>
      {siteId !== undefined && <SiteMenu siteId={siteId} address={address} />}
      {isLive && <Now path={realtimePath(source, address)} />}
    </>
  );
}

function SiteMenu({ siteId, address }: { siteId: string; address: Address }) {
  const { data } = useQuery<SiteList>("/sites", { staleMs: 60_000 });
  const query = writeAddress({ ...address, filters: "" });
  const others = data?.sites.filter(({ id }) => id !== siteId) ?? [];
  return (
    <Menu label="Sites" icon="down" look="quiet" isIconOnly>
      {others.map(({ id, domain }) => (
        <MenuItem key={id} href={`/dashboard/sites/${id}${query}`}>
          {domain}
        </MenuItem>
      ))}
      <MenuItem href={`/dashboard/sites/${siteId}/settings`}>Settings of this site</MenuItem>
      <MenuItem href="/dashboard/sites">All sites</MenuItem>
    </Menu>
  );
}

function Now({ path }: { path: string }) {
  const { data } = useQuery<SiteRealtime>(path, { pollMs: nowPollMs });
  if (!data) return null;
  return (
    <span class={data.visitors > 0 ? "now is-live" : "now"} title="Visitors with a page view in the last 5 minutes">
      {formatCount(data.visitors)} now
    </span>
  );
}

interface FigureLook {
  label: string;
  format(value: number): string;
  /** On the chart's axis; whole numbers alone without it. */
  tick?(value: number): string;
  better?: "low";
}

const toRatio = (value: number) => value.toFixed(2);
const toPercent = (value: number) => `${Math.round(100 * value)}%`;
const toClock = (seconds: number) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
const toSeconds = (value: number) =>
  value === 0 ? "0\u00a0s" : formatDuration(1_000 * (value < 10 ? value : Math.round(value)));

const looks: Readonly<Record<FigureName, FigureLook>> = {
  visitors: { label: "Visitors", format: formatCount },
  pageviews: { label: "Page views", format: formatCount },
  ratio: { label: "Views per visitor", format: toRatio, tick: String },
  events: { label: "Custom events", format: formatCount },
  visits: { label: "Visits", format: formatCount },
  viewsPerVisit: { label: "Views per visit", format: toRatio, tick: String },
  bounceRate: { label: "Bounce rate", format: formatShare, tick: toPercent, better: "low" },
  visitDuration: { label: "Visit duration", format: toSeconds, tick: toClock },
};

function chartLookOf(figure: FigureName): ChartLook {
  const { label, format, tick } = looks[figure];
  return { label, format, tick: tick ?? ((value) => (Number.isInteger(value) ? formatCount(value) : "")) };
}
