import "./sharing.css";
import type { ComponentChildren } from "preact";
import { lazy, useRoute } from "preact-iso";
import type { SharedInfo } from "../../src/sharing/open-link.route.js";
import { useQuery } from "../data/query.js";
import { EventsPage } from "../statistics/events-page.js";
import { MissingLink } from "../statistics/missing-site.js";
import { StatisticsPage } from "../statistics/statistics-page.js";
import { ErrorNote, Page, Skeleton } from "../ui/page.js";

const PasswordCard = lazy(() => import("./password-card.js").then((m) => m.PasswordCard));
const SharedTrace = lazy(() => import("./shared-trace.js").then((m) => m.SharedTrace));

export function SharedPage() {
  return <Opened>{({ shows }, path) => (shows === "trace" ? <SharedTrace data={path} /> : <StatisticsPage />)}</Opened>;
}

export function SharedEventsPage() {
  return <Opened>{() => <EventsPage />}</Opened>;
}

/** What a link shows, once it is open. */
function Opened({ children }: { children(info: SharedInfo, path: string): ComponentChildren }) {
  const path = `/shared/${useRoute().params["token"] ?? ""}`;
  const { data, error, refetch } = useQuery<SharedInfo>(path, { staleMs: Number.POSITIVE_INFINITY });
  if (error?.status === 404) return <MissingLink />;
  if (data?.needsPassword) return <PasswordCard path={path} />;
  if (data) return <div class="shared">{children(data, path)}</div>;
  return <Page title="">{error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={12} />}</Page>;
}
