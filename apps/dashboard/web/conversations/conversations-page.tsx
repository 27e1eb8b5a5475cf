import "./conversations.css";
import type { SessionList } from "../../src/conversations/conversations.route.js";
import { queryOf } from "../data/paths.js";
import { Ago } from "../ui/ago.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatDuration } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { Page } from "../ui/page.js";
import { type Column, Stacked } from "../ui/table.js";
import { NoLabels, Owner, SumsList, sumColumns } from "./sums-list.js";

type Session = SessionList["sessions"][number];

export function ConversationsPage() {
  const { filters, query } = useRecentDays(["1", "7", "30", "90"], ["user", "environment"]);
  return (
    <Page
      title="Conversations"
      note="Traces with the same session_id, the latest first. UTC days."
      actions={<ExportMenu path={`/exports/sessions${query}`} />}
    >
      {filters}
      <SumsList<SessionList, Session>
        name="Conversations"
        path={`/sessions${query}`}
        itemsOf={({ sessions }) => sessions}
        columns={columns}
        empty={<NoLabels title="No conversations in these days" label="session_id" text="chat-7" />}
      />
    </Page>
  );
}

const columns: readonly Column<Session>[] = [
  {
    text: "Conversation",
    class: "is-stacked session-name",
    cell: (session, isNarrow) => (
      <Stacked
        below={
          <>
            {session.user_id !== null && <UserLink user={session.user_id} />}{" "}
            {isNarrow && <Ago iso={session.last_at} />}
          </>
        }
      >
        <Owner href={`/dashboard/conversations/${encodeURIComponent(session.id)}`}>{session.id}</Owner>
      </Stacked>
    ),
  },
  ...sumColumns,
  {
    text: "Duration",
    isNumber: true,
    isWide: true,
    cell: ({ first_at, last_at }) => formatDuration(Date.parse(last_at) - Date.parse(first_at)),
  },
  { text: "Last trace", isNumber: true, isWide: true, class: "soft", cell: ({ last_at }) => <Ago iso={last_at} /> },
];

function UserLink({ user }: { user: string }) {
  return <Owner href={`/dashboard/conversations${queryOf({ user })}`}>{user}</Owner>;
}
