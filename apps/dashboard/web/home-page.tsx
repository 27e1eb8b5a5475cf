import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useQuery } from "./data/query.js";
import { ErrorNote, Page, Skeleton } from "./ui/page.js";

/** The first page: the traces, or the sites of an account that has sites and no traces. */
export function HomePage() {
  const { route } = useLocation();
  const traces = useQuery<{ traces: readonly object[] }>("/traces?limit=1");
  const sites = useQuery<{ sites: readonly object[] }>("/sites");
  const error = traces.error ?? sites.error;
  useEffect(() => {
    if (!traces.data || !sites.data) return;
    const isWebsiteOnly = traces.data.traces.length === 0 && sites.data.sites.length > 0;
    route(isWebsiteOnly ? "/dashboard/sites" : "/dashboard/traces", true);
  }, [traces.data, sites.data, route]);
  const retry = () => {
    traces.refetch();
    sites.refetch();
  };
  if (!error) return <Skeleton />;
  return (
    <Page title="This page did not load">
      <ErrorNote error={error} onRetry={retry} />
    </Page>
  );
}
