import { InvalidArgumentError } from "commander";
import type { CommandBuilder } from "../context/command-builder.js";
import { parseTime, type TimeArgument, timeForms, wholeNumber } from "./values.js";

interface Parameter {
  flags: string;
  about: string;
  parse?(text: string): unknown;
}

const statuses = ["running", "success", "error", "timeout"];

/** Query parameters of the trace API's lists, and the options that set them. */
const parameters = {
  agent_id: { flags: "--agent <id>", about: "only this agent's traces" },
  status: { flags: "--status <status>", about: "only these statuses, separated by commas", parse: parseStatuses },
  name: { flags: "--name <text>", about: "only traces with this text in their name" },
  session_id: { flags: "--session <id>", about: "only traces of this conversation" },
  user_id: { flags: "--user <id>", about: "only traces of this user" },
  environment: { flags: "--environment <name>", about: "only traces of this environment" },
  release: { flags: "--release <name>", about: "only traces of this release" },
  tag: { flags: "--tag <tag>", about: "only traces with this tag" },
  q: { flags: "--search <words>", about: 'only traces with all of these words, and "phrases", in their contents' },
  from: { flags: "--from <time>", about: `the earliest start: ${timeForms}`, parse: parseTime },
  to: { flags: "--to <time>", about: "the time that all starts are before", parse: parseTime },
  min_duration_ms: {
    flags: "--min-duration <ms>",
    about: "only traces of at least this duration",
    parse: wholeNumber(0),
  },
  min_cost: {
    flags: "--min-cost <dollars>",
    about: "only traces whose model calls cost at least this",
    parse: dollars,
  },
  limit: { flags: "--limit <n>", about: "the most rows, 50 by default", parse: wholeNumber(1, 200) },
  cursor: { flags: "--cursor <cursor>", about: "the rows behind those of the answer with this cursor" },
} as const satisfies Record<string, Parameter>;

export type ParameterName = keyof typeof parameters;

export const labelNames = ["session_id", "user_id", "environment", "release", "tag"] as const;
export const pageNames = ["from", "to", "limit", "cursor"] as const;

export function addParameters<Args extends readonly (string | undefined)[], Options extends object>(
  command: CommandBuilder<Args, Options>,
  names: readonly ParameterName[],
): CommandBuilder<Args, Options> {
  for (const name of names) {
    const { flags, about, parse }: Parameter = parameters[name];
    command.option(flags, about, { ...(parse && { parse }) });
  }
  return command;
}

export function queryOf(options: object, names: readonly ParameterName[], now: Date): Record<string, string> {
  const given = options as Readonly<Record<string, string | number | TimeArgument | undefined>>;
  const query: Record<string, string> = {};
  for (const name of names) {
    const [, long = ""] = /^--(\S+)/.exec(parameters[name].flags) ?? [];
    const value = given[long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) query[name] = typeof value === "function" ? value(now) : String(value);
  }
  return query;
}

function parseStatuses(text: string): string {
  const given = text.split(",").map((status) => status.trim());
  const known = statuses.filter((status) => given.includes(status));
  if (known.length === new Set(given).size) return known.join(",");
  throw new InvalidArgumentError(`It must be of ${statuses.join(", ")}.`);
}

function dollars(text: string): string {
  if (/^\d{1,9}(\.\d{1,12})?$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a decimal number of dollars, such as 0.25.");
}
