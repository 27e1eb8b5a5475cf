import { listFailures } from "@waymark/traces";
import { parseTime, timeForms, wholeNumber } from "../arguments/values.js";
import type { Program } from "../context/command-builder.js";
import { listing } from "../output/terminal-text.js";

const listHelp = `
A failure is an agent, and the innermost failing span's name and error, both without numbers, ids and quotations.
'waymark mute create' silences one.

Example:
  $ waymark failure list --account me@example.com --from 1d`;

const defaultDays = 30;

export function addFailureCommands(program: Program): void {
  const failure = program.group("failure", "list what went wrong in failed traces");
  failure("list", "list what went wrong in an account's failed traces, most frequent first", listHelp)
    .required("--account <account>", "the account's id or address")
    .option("--agent <agent>", "only this agent's traces")
    .option("--session <id>", "only traces of this conversation")
    .option("--user <id>", "only traces of this user")
    .option("--environment <name>", "only traces of this environment")
    .option("--release <name>", "only traces of this release")
    .option("--tag <tag>", "only traces with this tag")
    .option("--from <time>", `the earliest start: ${timeForms}; ${defaultDays}d by default`, { parse: parseTime })
    .option("--to <time>", "the time that all starts are before", { parse: parseTime })
    .option("--limit <n>", "the most failures to list", { parse: wholeNumber(1, 1_000), default: 50 })
    .query(
      async ({ pool, accountId, now }, { agent, limit, session, user, environment, release, tag, ...range }) => {
        const labels = { session_id: session, user_id: user, environment, release, tags: tag };
        const to = range.to?.(now) ?? now.toISOString();
        const from = range.from?.(now) ?? new Date(Date.parse(to) - defaultDays * 86_400_000).toISOString();
        return (await listFailures(pool, { accountId, from, to, agentId: agent, labels, limit })).failures;
      },
      listing(
        ["count", "agent_id", "span_name", "error", "last_at", "trace_id", "muted_until", "id"],
        "There are none.",
      ),
    );
}
