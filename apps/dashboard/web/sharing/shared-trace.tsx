import type { OutlineTrace } from "@waymark/traces";
import { MissingLink } from "../statistics/missing-site.js";
import { TraceViewer } from "../trace/trace-page.js";
import { useOutline } from "../trace/use-outline.js";
import { ErrorNote, Page, Skeleton, StatusDot } from "../ui/page.js";

/** The server tells nobody these members of a shared trace. */
const hidden = { id: "", agent_id: "", session_id: null, user_id: null, environment: null, release: null, tags: [] };

export function SharedTrace({ data }: { data: string }) {
  const { trace: shown, ...outline } = useOutline(data);
  const { error, refetch } = outline;
  if (error?.status === 404) return <MissingLink />;
  if (!shown)
    return <Page title="">{error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={12} />}</Page>;
  const trace: OutlineTrace = { ...shown, ...hidden };
  return (
    <Page title={trace.name || "(no name)"} aside={<StatusDot state={trace.status} />}>
      <TraceViewer data={data} outline={{ ...outline, trace }} />
    </Page>
  );
}
