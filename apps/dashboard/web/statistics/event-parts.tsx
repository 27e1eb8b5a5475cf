import { otherValue } from "@waymark/web-stats/lists";
import type { CustomEvent } from "@waymark/web-stats/statistics";
import { useState } from "preact/hooks";
import { formatCount, formatShare } from "../ui/format.js";
import { type Column, TableHead, TableRows } from "../ui/table.js";
import { hasFilter, type PageFilters, toggleFilter } from "./filters.js";
import { ValueBar } from "./value-bar.js";

/** @param limit rows of the names and of each property at first */
export function EventParts({
  events,
  limit,
  ...page
}: PageFilters & { events: readonly CustomEvent[]; limit: number }) {
  const [name, select] = useState<string | undefined>();
  const selected = events.find((event) => event.name === name) ?? events[0];
  if (!selected) return null;
  const shown = events.slice(0, limit);
  const properties = Object.entries(selected.properties);
  return (
    <div class="events">
      <table class="event-names" aria-label="Event names">
        <TableHead columns={[{ text: "Event" }, { text: "Count" }]} isHidden />
        <tbody>
          {shown.map((event) => (
            <tr key={event.name} class={event === selected ? "is-selected" : undefined}>
              <th scope="row">
                <button
                  type="button"
                  class="inset cut"
                  aria-pressed={event === selected}
                  onClick={() => select(event.name)}
                >
                  {event.name}
                </button>
              </th>
              <td class="number">{formatCount(event.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="event-properties">
        <EventFilter key={selected.name} name={selected.name} {...page} />
        {properties.length === 0 && <p class="note">“{selected.name}” has no properties.</p>}
        {properties.map(([property, counts]) => (
          <PropertyTable
            key={`${selected.name} ${property}`}
            property={property}
            counts={counts}
            limit={limit}
            event={selected}
            {...page}
          />
        ))}
      </div>
    </div>
  );
}

function EventFilter({ name, filters, onFilters }: PageFilters & { name: string }) {
  if (name === otherValue) return null;
  return (
    <p class="event-filter">
      <button
        type="button"
        class="text-button"
        aria-pressed={hasFilter(filters, "event", name)}
        onClick={() => onFilters(toggleFilter(filters, "event", name))}
      >
        Filter by this event
      </button>
    </p>
  );
}

interface PropertyProps extends PageFilters {
  property: string;
  counts: Readonly<Record<string, number>>;
  event: CustomEvent;
  limit: number;
}

function PropertyTable({ property, counts, event, limit, filters, onFilters }: PropertyProps) {
  const [count, setCount] = useState(limit);
  // Objects have names of digits first, so the order of counts is made again.
  const values = Object.entries(counts).sort(
    ([a, x], [b, y]) => Number(a === otherValue) - Number(b === otherValue) || y - x,
  );
  const dimension = `prop.${property}`;
  const pick = (value: string) => {
    const ofEvent = hasFilter(filters, "event", event.name) ? filters : toggleFilter(filters, "event", event.name);
    onFilters(toggleFilter(ofEvent, dimension, value));
  };
  // A long value counts by its start.
  const isWhole = (value: string) => ![event.name, value].includes(otherValue) && !value.endsWith("…");
  const largest = Math.max(1, ...values.map(([, value]) => value));
  const columns: readonly Column<(typeof values)[number]>[] = [
    {
      text: property,
      cell: ([value, times]) => (
        <ValueBar
          share={times / largest}
          label={value}
          isFiltered={hasFilter(filters, "event", event.name) && hasFilter(filters, dimension, value)}
          onPick={isWhole(value) ? () => pick(value) : undefined}
        />
      ),
    },
    { text: "Count", isNumber: true, cell: ([, times]) => formatCount(times) },
    {
      text: "Share of the event",
      sign: "%",
      isNumber: true,
      class: "soft",
      cell: ([, times]) => formatShare(times / Math.max(1, event.count)),
    },
  ];
  return (
    <div class="property">
      <table class="stat-table" aria-label={`Values of ${property}`}>
        <TableRows columns={columns} rows={values.slice(0, count)} keyOf={([value]) => value} />
      </table>
      {values.length > count && (
        <button type="button" class="text-button" onClick={() => setCount(count + 100)}>
          More values of {property}
        </button>
      )}
    </div>
  );
}
