/** Pages that need no session. */
const openPaths = [
  "/dashboard/sign-in",
  "/dashboard/sign-up",
  "/dashboard/forgot",
  "/dashboard/link/",
  "/dashboard/shared/",
];

export function isOpenPath(path: string): boolean {
  return openPaths.some((open) => path === open || (open.endsWith("/") && path.startsWith(open)));
}

/**
 * Keeps `?next=` inside the dashboard: a path of this origin below `/dashboard`, else the first page.
 * `//host` and `/\host` are other hosts to a browser.
 */
export function localPath(next: string | null | undefined): string {
  const home = "/dashboard/";
  if (!next || !/^\/dashboard(?:[/?]|$)/.test(next)) return home;
  const url = new URL(next, "http://waymark.invalid");
  if (url.host !== "waymark.invalid" || !/^\/dashboard(?:\/|$)/.test(url.pathname)) return home;
  const path = url.pathname + url.search;
  return isOpenPath(url.pathname) || url.pathname.startsWith("/dashboard/api/") ? home : path;
}

/** A query with its question mark, of those values that are not empty; nothing without any. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, String(value));
  return query.size === 0 ? "" : `?${query}`;
}
