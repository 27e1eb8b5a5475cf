import { validationError } from "@waymark/errors";
import {
  agentQuerySchema,
  agentsToList,
  failureQuerySchema,
  failuresToList,
  listAgents,
  listFailures,
  listSessions,
  listUsers,
  sessionQuerySchema,
  sumsToList,
  userQuerySchema,
} from "@waymark/traces";
import type pg from "pg";
import { addParameters, labelNames, type ParameterName, pageNames, queryOf } from "../arguments/parameters.js";
import type { TopCommand } from "../context/command-builder.js";
import { addServiceOptions, readFrom } from "../context/service.js";
import { formatPercent, formatTable } from "../output/terminal-text.js";

type Query = Readonly<Record<string, string>>;

/** A list of the trace API as a command of the same name; the list is a member of this name in the answer. */
interface Listing {
  /** What a reader must know. */
  note: string;
  example: string;
  parameters: readonly ParameterName[];
  fixed?: Query;
  columns: readonly string[];
  read(pool: pg.Pool, accountId: string, query: Query, now: Date): Promise<object>;
}

const sums = ["traces", "failures", "input_tokens", "output_tokens", "cost_usd", "last_at"];

const listings: Readonly<Record<string, Listing>> = {
  failures: {
    note: `A failure is an agent, and the innermost failing span's name and error, both without numbers, ids and quotations. Without --from
it counts the last 30 days. 'waymark mute create' silences one.`,
    example: "--from 1d --agent billing-agent",
    parameters: ["agent_id", ...labelNames, ...pageNames],
    columns: ["count", "agent_id", "span_name", "error", "last_at", "trace_id", "muted_until", "id"],
    read: (pool, accountId, query, now) =>
      listFailures(pool, failuresToList(accountId, parse(failureQuerySchema, query), now)),
  },
  agents: {
    note: "Without --from it counts the last 30 days.",
    example: "--from 7d --environment production",
    parameters: [...labelNames, ...pageNames],
    fixed: { include: "figures" },
    columns: [
      ...["id", "running", "success", "error", "timeout", "failure_rate"],
      ...["p50_ms", "p99_ms", "input_tokens", "output_tokens", "cost_usd", "last_started_at"],
    ],
    read: (pool, accountId, query, now) =>
      listAgents(pool, agentsToList(accountId, parse(agentQuerySchema, query), now)),
  },
  sessions: {
    note: "'waymark trace list --session ID' lists the traces of one.",
    example: "--user ann --from 1d",
    parameters: ["agent_id", "user_id", "environment", ...pageNames],
    columns: ["id", "user_id", ...sums],
    read: (pool, accountId, query) => listSessions(pool, sumsToList(accountId, parse(sessionQuerySchema, query))),
  },
  users: {
    note: "'waymark trace list --user ID' lists the traces of one.",
    example: "--from 7d",
    parameters: ["agent_id", "environment", ...pageNames],
    columns: ["id", "sessions", ...sums],
    read: (pool, accountId, query) => listUsers(pool, sumsToList(accountId, parse(userQuerySchema, query))),
  },
};

export function declareCommand(command: TopCommand): void {
  const { name } = command;
  const listing = listings[name];
  if (!listing) throw new Error(`There is no list named ${name}.`);
  const { note, example, parameters, fixed, columns, read } = listing;
  const declared = addServiceOptions(command.help(`\n${note}\n\nExample:\n  $ waymark ${name} ${example}`)).option(
    "--account <account>",
    "read the database, for the account of this id or address",
  );
  addParameters(declared, parameters).run(async (context, options) => {
    const query = { ...fixed, ...queryOf(options, parameters, context.now()) };
    const { body, value } = await readFrom(context, options, {
      key: ({ call }) => call<object>({ method: "GET", path: `/${name}`, query }),
      owner: ({ pool, accountId = "", now }) => read(pool, accountId, query, now),
    });
    return { value, text: draw(body as Page, name, columns) };
  });
}

interface Schema<Value> {
  safeParse(query: Query): {
    data?: Value | undefined;
    error?: { issues: readonly { path: PropertyKey[]; message: string }[] } | undefined;
  };
}

/** @throws AppError naming each wrong parameter, as the API does */
function parse<Value>(schema: Schema<Value>, query: Query): Value {
  const { data, error } = schema.safeParse(query);
  if (data !== undefined) return data;
  const issues = error?.issues ?? [];
  throw validationError(Object.fromEntries(issues.map(({ path, message }) => [path.join("."), message])));
}

type Page = Readonly<Record<string, unknown>> & { next_cursor: string | null };

/** Rows as a table; members of a row's objects are columns, too. */
function draw(page: Page, name: string, columns: readonly string[]): string {
  const rows = (page[name] as Readonly<Record<string, unknown>>[]).map((row) => {
    const parts = Object.values(row).filter((value) => typeof value === "object" && value !== null);
    const rate = row["failure_rate"];
    const share = typeof rate === "number" && { failure_rate: formatPercent(rate) };
    return Object.assign({}, row, ...parts, share) as Record<string, unknown>;
  });
  const more = page.next_cursor === null ? [] : [`More: --cursor ${page.next_cursor}`];
  return [rows.length > 0 ? formatTable(columns, rows) : "There are none.", ...more].join("\n");
}
