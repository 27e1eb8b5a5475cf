import "./statistics.css";
import { useState } from "preact/hooks";
import type { SiteEvents } from "../../src/statistics/statistics.route.js";
import { useQuery } from "../data/query.js";
import { TextField } from "../ui/form.js";
import { Empty, ErrorNote, Page, Panel, Skeleton } from "../ui/page.js";
import { eventsPath, writeAddress } from "./address.js";
import { EventParts } from "./event-parts.js";
import { FilterRefusal, StatisticsChips } from "./filter-chips.js";
import { placeOf } from "./list-card.js";
import { MissingSite } from "./missing-site.js";
import { coverageText, RangeControls, useAddress } from "./range-controls.js";

const pollMs = 60_000;

export function EventsPage() {
  const [search, setSearch] = useState("");
  const { source, address, change, onFilters } = useAddress();
  const { data, error, refetch } = useQuery<SiteEvents>(eventsPath(source, address), { keepPrevious: true, pollMs });
  const { filters } = address;
  const refusal = error?.fields["filters"];
  if (error?.status === 404) return <MissingSite source={source} />;
  const wanted = search.trim().toLowerCase();
  const events = data?.events.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <Page
      title="Custom events"
      crumbs={<a href={`${source.page}${writeAddress(address)}`}>{data?.site.domain ?? "Statistics"}</a>}
      note={data && `${data.days.first} to ${data.days.last}, UTC days. ${coverageText(data.coverage, filters !== "")}`}
      actions={<RangeControls address={address} days={data?.days} onAddress={change} />}
    >
      <StatisticsChips filters={filters} onFilters={onFilters} />
      {refusal && <FilterRefusal text={refusal} />}
      {error && !refusal && <ErrorNote error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton />}
      {data?.events.length === 0 && (
        <Empty title={`No custom events in ${placeOf(address)}`}>
          <p>
            A page sends one with <code>{'waymark("signup", { props: { plan: "pro" } })'}</code> after the tracking
            snippet.
          </p>
        </Empty>
      )}
      {events && data && data.events.length > 0 && (
        <Panel isFlush>
          <div class="events-search">
            <TextField label="Search events" value={search} onValue={setSearch} autocomplete="off" />
          </div>
          {events.length > 0 ? (
            <EventParts events={events} limit={1000} filters={filters} onFilters={onFilters} />
          ) : (
            <p class="note events-none">No event has this name.</p>
          )}
        </Panel>
      )}
    </Page>
  );
}
