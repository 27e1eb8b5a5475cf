/** A page's part of the built app, and its first data below `/dashboard/api`. */
interface PagePart {
  /** The page's path below `/dashboard`; `:name` is one segment. */
  path: string;
  /** Its source below `web/`, as Vite's manifest names it. */
  source: string;
  /** Requests that the page sends first when its address has no query. Each must be the page's very address. */
  data?: readonly string[];
}

export const pageParts: readonly PagePart[] = [
  { path: "/", source: "home-page.tsx", data: ["/traces?limit=1", "/sites"] },
  { path: "/sign-in", source: "session/entry-pages.tsx", data: ["/sign-in"] },
  { path: "/sign-up", source: "session/entry-pages.tsx", data: ["/sign-in"] },
  { path: "/forgot", source: "session/entry-pages.tsx" },
  { path: "/link/:token", source: "session/link-page.tsx", data: ["/link?token=:token"] },
  { path: "/shared/:token", source: "sharing/shared-page.tsx", data: ["/shared/:token"] },
  { path: "/shared/:token/events", source: "sharing/shared-page.tsx", data: ["/shared/:token"] },
  { path: "/traces", source: "traces/traces-page.tsx", data: ["/traces"] },
  { path: "/alerts", source: "list-pages.tsx", data: ["/alerts"] },
  { path: "/sites", source: "sites/sites-page.tsx", data: ["/sites"] },
  { path: "/sites/:id/settings", source: "sites/site-settings-page.tsx", data: ["/sites", "/me"] },
  { path: "/keys", source: "account-pages.tsx", data: ["/keys", "/me"] },
  { path: "/traces/:id", source: "trace/trace-page.tsx", data: ["/traces/:id/outline"] },
  {
    path: "/traces/:id/compare/:other",
    source: "trace/trace-page.tsx",
    data: ["/traces/:id/outline?include=digests", "/traces/:other/outline?include=digests"],
  },
  { path: "/agents", source: "agents/agents-page.tsx", data: ["/agents"] },
  { path: "/agents/:id", source: "agents/agent-page.tsx", data: ["/agents/:id"] },
  { path: "/conversations", source: "list-pages.tsx", data: ["/sessions"] },
  { path: "/conversations/:id", source: "list-pages.tsx", data: ["/sessions/:id"] },
  { path: "/users", source: "list-pages.tsx", data: ["/users"] },
  { path: "/failures", source: "list-pages.tsx", data: ["/failures"] },
  {
    path: "/failures/:id",
    source: "list-pages.tsx",
    data: ["/failures/:id", "/failures/:id/traces"],
  },
  { path: "/costs", source: "costs/costs-page.tsx", data: ["/costs"] },
  { path: "/billing", source: "account-pages.tsx", data: ["/usage", "/billing", "/me", "/keys"] },
  { path: "/channels", source: "account-pages.tsx", data: ["/channels", "/alert-rules", "/me"] },
  { path: "/team", source: "account-pages.tsx", data: ["/people", "/audit", "/me"] },
  { path: "/settings", source: "account-pages.tsx", data: ["/me", "/me/sessions"] },
  { path: "/sites/:id", source: "statistics/statistics-page.tsx", data: ["/sites/:id/stats", "/sites/:id/events"] },
  { path: "/sites/:id/events", source: "statistics/events-page.tsx", data: ["/sites/:id/events"] },
  { path: "/sites/:id/ai", source: "statistics/ai-page.tsx", data: ["/sites/:id/ai"] },
];

/** The part of a page's path, with the path's parameters in its data's addresses. */
export function findPagePart(path: string): { source: string; data: readonly string[] } | undefined {
  const segments = path.replace(/^\/dashboard\/?/, "").split("/");
  for (const { path: pattern, source, data = [] } of pageParts) {
    const wanted = pattern.slice(1).split("/");
    const isMatch = wanted.length === segments.length && wanted.every((part, at) => matches(part, segments[at] ?? ""));
    if (!isMatch) continue;
    const fill = (address: string) => address.replace(/:(\w+)/g, (name) => segments[wanted.indexOf(name)] ?? name);
    return { source, data: data.map(fill) };
  }
  return undefined;
}

/** A parameter takes the signs of ids and tokens only, so that nothing else gets into a header. */
function matches(pattern: string, segment: string): boolean {
  return pattern.startsWith(":") ? /^[\w-]{1,200}$/.test(segment) : pattern === segment;
}
