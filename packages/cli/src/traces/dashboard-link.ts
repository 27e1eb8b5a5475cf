/** A person waits, and the API's own address leads there as well. */
const timeoutMs = 2_000;

/** A trace's page: where the trace API leads `/dashboard`, else its own address for it. */
export async function dashboardLink(url: string, traceId: string): Promise<string> {
  const own = `${url}/dashboard/traces/${encodeURIComponent(traceId)}`;
  const init = { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(timeoutMs) } as const;
  const location = await fetch(own, init).then(
    ({ headers }) => headers.get("Location"),
    () => null,
  );
  return location !== null && URL.canParse(location, own) ? new URL(location, own).href : own;
}
