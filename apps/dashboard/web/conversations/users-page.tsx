import "./conversations.css";
import type { UserList } from "../../src/conversations/conversations.route.js";
import { queryOf } from "../data/paths.js";
import { Ago } from "../ui/ago.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatCount } from "../ui/format.js";
import { useRecentDays } from "../ui/list-filters.js";
import { Page } from "../ui/page.js";
import { type Column, Stacked } from "../ui/table.js";
import { NoLabels, Owner, SumsList, sumColumns } from "./sums-list.js";

type User = UserList["users"][number];

export function UsersPage() {
  const { filters, query } = useRecentDays(["1", "7", "30", "90"], ["environment"]);
  return (
    <Page
      title="Users"
      note="Traces with the same user_id, the latest first. UTC days."
      actions={<ExportMenu path={`/exports/users${query}`} />}
    >
      {filters}
      <SumsList<UserList, User>
        name="Users"
        path={`/users${query}`}
        itemsOf={({ users }) => users}
        columns={columns}
        empty={<NoLabels title="No users in these days" label="user_id" text="u-42" />}
      />
    </Page>
  );
}

const conversationsOf = (user: string) => `/dashboard/conversations${queryOf({ user })}`;
const tracesOf = (user: string) => `/dashboard/traces${queryOf({ user })}`;

const columns: readonly Column<User>[] = [
  {
    text: "User",
    class: "is-stacked session-name",
    cell: ({ id, sessions, last_at }, isNarrow) => (
      <Stacked below={isNarrow && <Ago iso={last_at} />}>
        <Owner href={sessions > 0 ? conversationsOf(id) : tracesOf(id)}>{id}</Owner>
      </Stacked>
    ),
  },
  {
    text: "Conversations",
    isNumber: true,
    isWide: true,
    cell: ({ id, sessions }) => (sessions > 0 ? <a href={conversationsOf(id)}>{formatCount(sessions)}</a> : "0"),
  },
  ...sumColumns.map((column) =>
    column.text === "Traces"
      ? { ...column, cell: ({ id, traces }: User) => <a href={tracesOf(id)}>{formatCount(traces)}</a> }
      : column,
  ),
  { text: "Last trace", isNumber: true, isWide: true, class: "soft", cell: ({ last_at }) => <Ago iso={last_at} /> },
];
