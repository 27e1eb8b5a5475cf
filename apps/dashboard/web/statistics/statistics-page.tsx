import "./statistics.css";
import "./over-time.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import type { SiteEvents, SiteStats } from "../../src/statistics/statistics.route.js";
import { useQuery } from "../data/query.js";
import { keepLastSite } from "../shell/last-site.js";
import { MissingPage } from "../shell/missing-page.js";
import { Snippet } from "../sites/snippet.js";
import { announce } from "../ui/announce.js";
import { ButtonLink } from "../ui/button.js";
import { Page } from "../ui/page.js";
import { ErrorNote, Skeleton, StatusDot } from "../ui/states.js";
import { type Address, eventsPath, readAddress, statsPath, writeAddress } from "./address.js";
import { cards } from "./cards.js";
import { Chart } from "./chart.js";
import { toCurve } from "./chart-shape.js";
import { EventParts } from "./event-parts.js";
import { chartLookOf, Figures } from "./figures.js";
import { FilterChips, FilterRefusal } from "./filter-chips.js";
import type { PageFilters } from "./filters.js";
import { csvLink, ListCard, placeOf } from "./list-card.js";
import { CompareControl, CustomDates, RangeControls } from "./range-controls.js";
import { RangeNote } from "./range-note.js";
import { SiteAside } from "./site-aside.js";

const pollMs = 60_000;
const waitPollMs = 3_000;

/** A site's statistics. The address holds the range, the comparison and the drawn figure. */
export function StatisticsPage() {
  const { params } = useRoute();
  const { query, path, route } = useLocation();
  const siteId = params["id"] ?? "";
  const address = readAddress(query);
  const stats = useSiteStats(siteId, address);
  const { filters } = address;
  const change = (next: Address) => route(`${path}${writeAddress(next)}`, next.filters === filters);
  const filter = (next: string) => change({ ...address, filters: next });
  const { data, error } = stats;
  const refusal = error?.fields["filters"];
  if (error?.status === 404) return <MissingPage title="Site not found" />;
  const isWaiting = data !== undefined && !data.hasEvents;
  return (
    <Page
      title={data?.site.domain ?? "Statistics"}
      aside={data && <SiteAside siteId={siteId} address={address} isLive={!isWaiting} />}
      note={data && !isWaiting && <RangeNote stats={data} address={address} />}
      actions={!isWaiting && <Actions siteId={siteId} address={address} days={data?.days} onAddress={change} />}
    >
      {!isWaiting && <FilterChips filters={filters} onFilters={filter} />}
      {refusal && <FilterRefusal text={refusal} />}
      {error && !refusal && <ErrorNote error={error} onRetry={stats.refetch} />}
      {!data && !error && <Skeleton rows={12} />}
      {isWaiting && <FirstVisit domain={data.site.domain} />}
      {data && !isWaiting && (
        <div aria-busy={stats.isPrevious}>
          <Content stats={data} address={address} onAddress={change} />
        </div>
      )}
    </Page>
  );
}

/** Asks for the statistics: often until the first visit, and says when it came. */
function useSiteStats(siteId: string, address: Address) {
  const path = statsPath(siteId, address);
  const [isWaiting, setWaiting] = useState(false);
  const stats = useQuery<SiteStats>(path, { keepPrevious: true, pollMs: isWaiting ? waitPollMs : pollMs });
  const hasEvents = stats.data?.hasEvents;
  useEffect(() => {
    if (hasEvents && isWaiting) announce("The first visit arrived");
    setWaiting(hasEvents === false);
  }, [hasEvents]);
  const known = stats.data?.site.id;
  useEffect(() => {
    if (known) keepLastSite(known);
  }, [known]);
  return stats;
}

interface PartProps {
  address: Address;
  onAddress(address: Address): void;
}

function Actions({ siteId, days, ...part }: PartProps & { siteId: string; days: SiteStats["days"] | undefined }) {
  const csv = csvLink(siteId, part.address, { list: "topPages" });
  return (
    <>
      <RangeControls {...part} days={days} />
      <CustomDates {...part} />
      <CompareControl {...part} />
      <ButtonLink href={csv} download title="The pages of this range, up to 1,000 rows">
        CSV
      </ButtonLink>
    </>
  );
}

function Content({ stats, address, onAddress }: PartProps & { stats: SiteStats }) {
  const { overview, now } = stats;
  const { figure, filters } = address;
  const onFilters = (next: string) => onAddress({ ...address, filters: next });
  const curve = useMemo(() => toCurve(overview, figure, now), [overview, figure, now]);
  return (
    <>
      <section class="panel is-flush" aria-label="Over time">
        <Figures overview={overview} selected={figure} onSelect={(name) => onAddress({ ...address, figure: name })} />
        <Chart curve={curve} look={chartLookOf(figure)} />
      </section>
      <div class="stat-cards">
        {cards.map((card) => (
          <ListCard key={card.name} card={card} stats={stats} address={address} onFilters={onFilters} />
        ))}
      </div>
      <EventsCard siteId={stats.site.id} address={address} filters={filters} onFilters={onFilters} />
    </>
  );
}

/** Custom events have a request of their own: many properties never keep the figures waiting. */
function EventsCard({ siteId, address, ...page }: PageFilters & { siteId: string; address: Address }) {
  const { data, error, refetch } = useQuery<SiteEvents>(eventsPath(siteId, address), { keepPrevious: true, pollMs });
  const all = `/dashboard/sites/${siteId}/events${writeAddress(address)}`;
  return (
    <section class="panel is-flush" aria-label="Custom events">
      <h2 class="card-title">Custom events</h2>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {data && data.events.length === 0 && (
        <table class="stat-table" aria-label="Event names">
          <tbody>
            <tr>
              <td class="soft">No custom events in {placeOf(address)}</td>
            </tr>
          </tbody>
        </table>
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
      <p class="waiting-line" role="status">
        <StatusDot state="running">Waiting for the first visit</StatusDot>
      </p>
    </div>
  );
}
