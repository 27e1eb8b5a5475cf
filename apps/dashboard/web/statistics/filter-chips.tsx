import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { Banner } from "../ui/page.js";
import { labelOf } from "./cards.js";
import { type PageFilter, type PageFilters, readFilters, sayFilter, writeFilters } from "./filters.js";

/** The page's filters, each with a button that removes it; the focus goes to the next one, and then to the heading. */
export function FilterChips({ filters: text, onFilters }: PageFilters) {
  const frame = useRef<HTMLDivElement>(null);
  const last = useRef(text);
  const removed = useRef<number | undefined>(undefined);
  const filters = readFilters(text);
  useLayoutEffect(() => {
    if (last.current === text) return;
    last.current = text;
    announce(text === "" ? "No filters" : `Filters: ${filters.map(sayFilter).join(", ")}`);
    if (removed.current === undefined) return;
    const buttons = frame.current?.querySelectorAll<HTMLElement>(".filter-chip button") ?? [];
    (buttons[Math.min(removed.current, buttons.length - 1)] ?? document.querySelector("h1"))?.focus();
    removed.current = undefined;
  }, [text]);
  const remove = (at: number, left: string) => {
    removed.current = at;
    onFilters(left);
  };
  if (filters.length === 0) return null;
  return (
    <div class="row filter-chips" ref={frame}>
      <ul class="row" aria-label="Filters">
        {filters.map((filter, at) => (
          <li key={sayFilter(filter)} class="filter-chip">
            <span>{sayFilter(named(filter))}</span>
            <button
              type="button"
              aria-label={`Remove filter ${sayFilter(filter)}`}
              onClick={() => remove(at, writeFilters(filters.toSpliced(at, 1)))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <Button look="quiet" onClick={() => remove(0, "")}>
        Remove all filters
      </Button>
    </div>
  );
}

/** With the names of countries beside their codes. */
function named(filter: PageFilter): PageFilter {
  if (filter.dimension !== "country") return filter;
  const nameOf = (code: string) => {
    const name = labelOf("topCountries", code);
    return name === code ? code : `${name} (${code})`;
  };
  return { ...filter, values: filter.values.map(nameOf) };
}

export function FilterRefusal({ text }: { text: string }) {
  return <Banner tone="error">The filters in the address cannot be read. {text}.</Banner>;
}
