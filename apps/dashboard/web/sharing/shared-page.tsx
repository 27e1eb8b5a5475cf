import "./sharing.css";
import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import type { SharedInfo } from "../../src/sharing/open-link.route.js";
import { api } from "../data/api.js";
import { useQuery } from "../data/query.js";
import { EntryCard, EntryForm } from "../session/entry-parts.js";
import { EventsPage } from "../statistics/events-page.js";
import { MissingLink } from "../statistics/missing-site.js";
import { StatisticsPage } from "../statistics/statistics-page.js";
import { TextField, useForm } from "../ui/form.js";
import { ErrorNote, Page, Skeleton } from "../ui/page.js";

export function SharedPage() {
  return (
    <Opened>
      <StatisticsPage />
    </Opened>
  );
}

export function SharedEventsPage() {
  return (
    <Opened>
      <EventsPage />
    </Opened>
  );
}

/** What a link shows, once it is open. */
function Opened({ children }: { children: ComponentChildren }) {
  const path = `/shared/${useRoute().params["token"] ?? ""}`;
  const { data, error, refetch } = useQuery<SharedInfo>(path, { staleMs: Number.POSITIVE_INFINITY });
  if (error?.status === 404) return <MissingLink />;
  if (data?.needsPassword) return <PasswordCard path={path} />;
  if (data) return <div class="shared">{children}</div>;
  return <Page title="">{error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={12} />}</Page>;
}

function PasswordCard({ path }: { path: string }) {
  const send = (body: { password: string }) => api.post(`${path}/password`, body);
  const form = useForm({ password: "" }, send, { invalidates: [path], refusalAt: "password" });
  return (
    <EntryCard title="This link has a password">
      <EntryForm form={{ ...form, error: undefined }} verb="Open">
        <TextField label="Password" type="password" autocomplete="off" required {...form.field("password")} />
      </EntryForm>
    </EntryCard>
  );
}
