import { useQuery } from "../data/query.js";

const key = "waymark.site";

/** Keeps the site whose statistics were looked at last: the menu's "Statistics" leads there. */
export function keepLastSite(id: string): void {
  try {
    localStorage.setItem(key, id);
  } catch {
    // Without storage the link leads to the first site.
  }
}

/** The site of the menu's "Statistics": the one looked at last while it exists, else the first. */
export function useStatisticsSite(isWanted: boolean): string | undefined {
  const { data } = useQuery<SiteIds>(isWanted ? "/sites" : undefined, { staleMs: 60_000 });
  const last = readLastSite();
  if (!data) return last;
  return data.sites.some(({ id }) => id === last) ? last : data.sites[0]?.id;
}

interface SiteIds {
  sites: readonly { id: string }[];
}

function readLastSite(): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}
