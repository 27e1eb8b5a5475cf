import type { ComponentChildren } from "preact";
import type { SessionList } from "../../src/conversations/conversations.route.js";
import { nextByCursor, useMe, usePages, useQuery } from "../data/query.js";
import { CopyField } from "../ui/copy-button.js";
import { formatCount } from "../ui/format.js";
import { Empty, Loaded, Panel } from "../ui/page.js";
import { type Column, Pager, Table } from "../ui/table.js";
import { Cost, Tokens } from "../ui/usage.js";

type Sums = Pick<
  SessionList["sessions"][number],
  "traces" | "failures" | "input_tokens" | "output_tokens" | "cost_usd"
>;

export const sumColumns: readonly Column<Sums>[] = [
  { text: "Traces", isNumber: true, cell: ({ traces }) => formatCount(traces) },
  { text: "Failures", isNumber: true, cell: ({ failures }) => <Failures count={failures} /> },
  { text: "Tokens", isNumber: true, isWide: true, cell: (sums) => <Tokens of={sums} /> },
  { text: "Cost", isNumber: true, cell: ({ cost_usd }) => <Cost usd={cost_usd} /> },
];

function Failures({ count }: { count: number }) {
  return <span class={count > 0 ? "is-error has-failures" : "soft"}>{formatCount(count)}</span>;
}

/** A name of any script and of up to 200 characters, in one line. */
export function Owner({ href, children }: { href: string; children: string }) {
  return (
    <a class="cut session-owner" dir="auto" title={children} href={href}>
      {children}
    </a>
  );
}

interface SumsListProps<List, Item> {
  name: string;
  path: string;
  itemsOf(list: List): readonly Item[];
  columns: readonly Column<Item>[];
  empty: ComponentChildren;
}

export function SumsList<List extends { next_cursor: string | null }, Item extends { id: string }>({
  name,
  path,
  itemsOf,
  columns,
  empty,
}: SumsListProps<List, Item>) {
  const first = useQuery<List>(path, { keepPrevious: true });
  const { items = [], ...more } = usePages(path, first.data, { itemsOf, nextOf: nextByCursor });
  if (first.data === undefined && first.error?.fields["from"] !== undefined) {
    return <Empty title="Too many traces to sum" text="Choose fewer days or an agent." />;
  }
  return (
    <Loaded of={first}>
      {() =>
        items.length === 0 ? (
          empty
        ) : (
          <Panel isFlush>
            <Table narrowPx={720} name={name} columns={columns} rows={items} />
            <Pager {...more} />
          </Panel>
        )
      }
    </Loaded>
  );
}

export function NoLabels({ title, label, text }: { title: string; label: "session_id" | "user_id"; text: string }) {
  const { data } = useMe();
  if (!data) return <Empty title={title} />;
  const url = data.traceApiUrl.replace(/\/$/, "");
  const [agent, time] = ['"agent_id":"support","name":"Refund"', new Date().toISOString()];
  const lines = [
    `curl ${url}/api/v1/traces -H "Authorization: Bearer $TRACE_KEY" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{${agent},"status":"running","started_at":"${time}","${label}":"${text}"}'`,
  ];
  return (
    <Empty title={title}>
      <p>
        A trace with a <code>{label}</code> belongs to one:
      </p>
      <div class="label-example">
        <CopyField label="Example" lines={lines.length} value={lines.join("\n")} />
      </div>
      <p>
        The SDKs set it for a block of code by <code>propagate</code>. From OpenTelemetry come{" "}
        <code>{attributes[label]}</code> and the like of other senders. <a href={`${url}/docs`}>The trace API</a>
      </p>
    </Empty>
  );
}

const attributes = { session_id: "gen_ai.conversation.id, session.id", user_id: "user.id, enduser.id" } as const;
