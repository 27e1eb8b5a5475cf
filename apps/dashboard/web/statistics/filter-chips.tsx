import { FilterChips } from "../ui/filter-chips.js";
import { Banner } from "../ui/page.js";
import { labelOf } from "./cards.js";
import { type PageFilter, type PageFilters, readFilters, sayFilter, writeFilters } from "./filters.js";

export function StatisticsChips({ filters: text, onFilters }: PageFilters) {
  const filters = readFilters(text);
  return (
    <FilterChips
      chips={filters.map((filter) => ({ says: sayFilter(filter), shows: sayFilter(named(filter)) }))}
      onRemove={(at) => onFilters(writeFilters(filters.toSpliced(at, 1)))}
      onClear={() => onFilters("")}
    />
  );
}

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
