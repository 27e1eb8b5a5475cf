import "./events.css";
import type { CustomEvent } from "@waymark/statistics";
import { useState } from "preact/hooks";
import { formatCount, formatShare } from "../ui/format.js";
import { TableHead } from "../ui/table.js";

interface EventPartsProps {
  events: readonly CustomEvent[];
  /** Rows of the names and of each property at first. */
  limit: number;
}

/** Custom events: names with counts at the left, the selected event's properties at the right. */
export function EventParts({ events, limit }: EventPartsProps) {
  const [name, select] = useState<string | undefined>();
  const selected = events.find((event) => event.name === name) ?? events[0];
  if (!selected) return null;
  const shown = events.slice(0, limit);
  const properties = Object.entries(selected.properties);
  return (
    <div class="events">
      <table class="event-names" aria-label="Event names">
        <TableHead columns={["Event", "Count"]} isHidden />
        <tbody>
          {shown.map((event) => (
            <tr key={event.name} class={event === selected ? "is-selected" : undefined}>
              <th scope="row">
                <button type="button" aria-pressed={event === selected} onClick={() => select(event.name)}>
                  {event.name}
                </button>
              </th>
              <td class="number">{formatCount(event.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="event-properties">
        {properties.length === 0 && <p class="note">“{selected.name}” has no properties.</p>}
        {properties.map(([property, counts]) => (
          <PropertyTable key={`${selected.name} ${property}`} {...{ property, counts, limit }} total={selected.count} />
        ))}
      </div>
    </div>
  );
}

interface PropertyProps {
  property: string;
  counts: Readonly<Record<string, number>>;
  /** The event's count; shares are parts of it. */
  total: number;
  limit: number;
}

function PropertyTable({ property, counts, total, limit }: PropertyProps) {
  const [count, setCount] = useState(limit);
  // Objects have names of digits first, so the order of counts is made again.
  const values = Object.entries(counts).sort(
    ([a, x], [b, y]) => Number(a === "(other)") - Number(b === "(other)") || y - x,
  );
  const largest = Math.max(1, ...values.map(([, value]) => value));
  return (
    <div class="property">
      <table class="stat-table" aria-label={`Values of ${property}`}>
        <TableHead
          columns={[
            property,
            { text: "Count", isNumber: true },
            { text: "Share of the event", sign: "%", isNumber: true },
          ]}
        />
        <tbody>
          {values.slice(0, count).map(([value, times]) => (
            <tr key={value}>
              <th scope="row">
                <div class="bar-cell">
                  <span class="bar" style={{ width: `${(times / largest) * 100}%` }} />
                  <span class="bar-text" title={value}>
                    {value}
                  </span>
                </div>
              </th>
              <td class="number">{formatCount(times)}</td>
              <td class="number soft">{formatShare(times / Math.max(1, total))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {values.length > count && (
        <button type="button" class="text-button" onClick={() => setCount(count + 100)}>
          More values of {property}
        </button>
      )}
    </div>
  );
}
