import type { SiteList } from "../../src/sites/sites.route.js";
import type { SiteRealtime } from "../../src/statistics/statistics.route.js";
import { useQuery } from "../data/query.js";
import { formatCount } from "../ui/format.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { type Address, realtimePath, writeAddress } from "./address.js";

const nowPollMs = 10_000;

/** Beside a site's name: the other sites, and how many visitors are there now. */
export function SiteAside({ siteId, address, isLive }: { siteId: string; address: Address; isLive: boolean }) {
  const { data } = useQuery<SiteList>("/sites", { staleMs: 60_000 });
  const query = writeAddress({ ...address, filters: "" });
  const others = data?.sites.filter(({ id }) => id !== siteId) ?? [];
  return (
    <>
      <Menu label="Sites" icon="down" look="quiet" isIconOnly>
        {others.map(({ id, domain }) => (
          <MenuItem key={id} href={`/dashboard/sites/${id}${query}`}>
            {domain}
          </MenuItem>
        ))}
        <MenuItem href={`/dashboard/sites/${siteId}/settings`}>Settings of this site</MenuItem>
        <MenuItem href="/dashboard/sites">All sites</MenuItem>
      </Menu>
      {isLive && <Now path={realtimePath(siteId, address)} />}
    </>
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
