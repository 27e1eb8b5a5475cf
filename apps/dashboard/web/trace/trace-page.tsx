import { plans } from "@waymark/plan";
import { useRoute } from "preact-iso";
import { useMe } from "../data/me.js";
import { Page } from "../ui/page.js";
import { ErrorNote, Skeleton, StatusDot } from "../ui/states.js";
import "./trace.css";
import { TraceActions } from "./trace-actions.js";
import { TraceViewer } from "./trace-viewer.js";
import { type Outline, useOutline } from "./use-outline.js";

/** One trace: its head at once, then its spans with the first failing one open. */
export function TracePage() {
  const id = useRoute().params["id"] ?? "";
  const outline = useOutline(id);
  const { trace, error, refetch } = outline;
  if (error?.status === 404) return <MissingTrace />;
  if (!trace) {
    return (
      <Page title={error ? "Trace" : ""} crumbs={<a href="/dashboard/traces">Traces</a>}>
        {error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={12} />}
      </Page>
    );
  }
  return (
    <Page
      title={trace.name || "(no name)"}
      crumbs={
        <>
          <a href="/dashboard/traces">Traces</a> /{" "}
          <a href={`/dashboard/traces?agent=${encodeURIComponent(trace.agent_id)}`}>{trace.agent_id}</a>
        </>
      }
      aside={<StatusDot state={trace.status} />}
      actions={<TraceActions trace={trace} />}
    >
      <TraceViewer key={id} outline={outline as Outline & { trace: typeof trace }} />
    </Page>
  );
}

function MissingTrace() {
  const { data } = useMe();
  const days = data && plans[data.account.plan].retentionDays;
  return (
    <Page title="Trace not found" crumbs={<a href="/dashboard/traces">Traces</a>}>
      <p>It was deleted, is past retention{days ? ` (${days} days on your plan)` : ""}, or is another account's.</p>
      <p>
        <a href="/dashboard/traces">All traces</a>
      </p>
    </Page>
  );
}
