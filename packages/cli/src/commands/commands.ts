import type { Shared, TopCommand } from "../context/command-builder.js";

/** What the command is about, and what loads its modules: a call loads those of its own command alone. */
type Entry = readonly [about: string, load: () => Promise<Module>];

interface Module {
  declareCommand(command: TopCommand, shared: Shared): void;
}

const loadListing = () => import("./listing.command.js");

/** The commands of the first level, in the order of `--help`. */
export const commands: Readonly<Record<string, Entry>> = {
  account: [
    "create accounts, list them, change their plan or address, delete them",
    () => import("./account.command.js"),
  ],
  "sign-in-link": ["make a link that signs in to the dashboard", () => import("./sign-in-link.command.js")],
  key: ["create API keys, list them, rename them, revoke them", () => import("./key.command.js")],
  site: [
    "create the sites of an account, list them, share their statistics, rename them, claim their domains, delete them",
    () => import("./site.command.js"),
  ],
  goal: ["create the goals of a site, list them, delete them", () => import("./goal.command.js")],
  funnel: ["create funnels of a site's goals, list them, delete them", () => import("./funnel.command.js")],
  usage: ["show an account's use of its plan in this UTC month", () => import("./usage.command.js")],
  stats: ["show a site's visitors and page views: totals, days and top lists", () => import("./stats.command.js")],
  ai: [
    "show which crawlers and assistants read a site, and the visits that assistants bring",
    () => import("./ai.command.js"),
  ],
  import: [
    "record a site's page views and events from a file: JSON lines, or a web server's log",
    () => import("./import.command.js"),
  ],
  export: [
    "write a site's page views and events, one JSON object a line, oldest first",
    () => import("./export.command.js"),
  ],
  rollup: ["compare a site's figures with its raw events", () => import("./rollup.command.js")],
  alert: ["look at an account's alerts, send failed ones again", () => import("./alert.command.js")],
  channel: ["say where an account's alerts go", () => import("./channel.command.js")],
  mute: ["silence the alerts of a failure, list what is muted, end it", () => import("./mute.command.js")],
  rule: [
    "be told when agents fail too often, cost too much or take too long, and when they are back",
    () => import("./rule.command.js"),
  ],
  trace: [
    "list traces, show one, follow new ones, delete one; over HTTP, with a key",
    () => import("./trace.command.js"),
  ],
  score: ["add scores to traces and spans; over HTTP, with a key", () => import("./score.command.js")],
  failures: ["list what went wrong in failed traces, most frequent first", loadListing],
  agents: ["list agents, with their traces by status, durations, tokens and cost", loadListing],
  sessions: ["list conversations, the latest first, with traces, tokens and cost", loadListing],
  users: ["list users, the latest first, with conversations, traces, tokens and cost", loadListing],
  mcp: [
    "give agents tools that read traces and statistics, by the Model Context Protocol over stdio",
    () => import("./mcp.command.js"),
  ],
  open: ["print the address of a trace's page, and open it", () => import("./open.command.js")],
  init: [
    "show the lines that record an application's agents, write its .env, and send a first run",
    () => import("./init.command.js"),
  ],
  setup: ["write the settings of a new installation, with their passwords", () => import("./setup.command.js")],
  doctor: [
    "say within two seconds why runs do not arrive: address, TLS, clock, key, scope, quota, last run",
    () => import("./doctor.command.js"),
  ],
  logs: [
    "print lines of the services' logs: of a request, an account, a key, of slow or failed requests",
    () => import("./logs.command.js"),
  ],
  bots: ["the list of crawlers, assistants and other machines", () => import("./bots.command.js")],
  cell: ["spread accounts over several installations", () => import("./cell.command.js")],
  migrate: [
    "bring the database's tables to this version; safe to run again, and by several at once",
    () => import("./migrate.command.js"),
  ],
  backup: ["write all data of the database into a file, verify one", () => import("./backup.command.js")],
  restore: [
    "read a backup into an empty database",
    async () => ({ declareCommand: (await import("./backup.command.js")).declareRestore }),
  ],
  completion: ["print the completion of bash, zsh, fish", () => import("./completion.command.js")],
};
