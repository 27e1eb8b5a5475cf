import { createSignInLink } from "@waymark/accounts/identity/links";
import { typed } from "@waymark/cli";
import { createPool } from "@waymark/database";
import type pg from "pg";
import type { DemoAccounts } from "./demo/demo-accounts.js";

interface RunningSystem {
  entry: { url: string; note: string };
  traceUrl: string;
  analyticsUrl: string;
  collectorUrl: string;
  /** Whether the ports that exporters know by themselves are ours. */
  isOtlpServed: boolean;
  /** The database, without its password. */
  database: string;
  queue: string;
  dataFolder: string;
  mails: string;
  accounts: DemoAccounts | undefined;
}

/** The text of a started system: addresses, the demo's keys and lines to paste, in this order. */
export function describeSystem(system: RunningSystem): string {
  const { traceUrl, analyticsUrl, collectorUrl, accounts } = system;
  const parts = [
    [
      "Waymark runs.",
      "",
      `  dashboard      ${system.entry.url}  (${system.entry.note})`,
      `  trace API      ${traceUrl}   documentation: ${traceUrl}/docs`,
      ...(system.isOtlpServed ? ["  OpenTelemetry  http://127.0.0.1:4318 and, over gRPC, 127.0.0.1:4317"] : []),
      `  analytics API  ${analyticsUrl}   documentation: ${analyticsUrl}/docs`,
      `  collector      ${collectorUrl}   documentation: ${collectorUrl}/docs`,
      `  mails          ${system.mails}`,
      `  database       ${system.database}`,
      `  queue          ${system.queue}`,
      `  data, logs     ${system.dataFolder}`,
    ],
  ];
  if (accounts) parts.push(describeKeys(accounts), describeCalls(system, accounts), describeExporter(system, accounts));
  parts.push(describeTag(collectorUrl, accounts?.pro.site.domain ?? "YOUR-DOMAIN"));
  parts.push([`The command line works beside it: ${typed.commandLine} --help`, "Ctrl-C stops all of it."]);
  return `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function describeKeys({ free, pro }: DemoAccounts): string[] {
  const lines = [["pro", pro] as const, ["free", free] as const].flatMap(([plan, { id, keys }]) => [
    `  ${plan.padEnd(5)} account ${id}`,
    `        trace      ${keys.trace}`,
    `        analytics  ${keys.analytics}`,
  ]);
  return ["Demo keys:", "", ...lines];
}

function describeExporter({ traceUrl }: RunningSystem, { pro }: DemoAccounts): string[] {
  return [
    "With these variables an OpenTelemetry exporter sends its traces here, and the last line follows them:",
    "",
    `  OTEL_EXPORTER_OTLP_ENDPOINT=${traceUrl}`,
    `  OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20${pro.keys.trace}`,
    `  WAYMARK_TRACE_KEY=${pro.keys.trace} WAYMARK_TRACE_URL=${traceUrl} ${typed.commandLine} trace tail`,
  ];
}

function describeTag(collectorUrl: string, domain: string): string[] {
  const tag = `<script defer src="${collectorUrl}/js/script.js" data-domain="${domain}"></script>`;
  return ["A page with this line reports its visits, and the statistics show them at once:", "", `  ${tag}`];
}

function describeCalls({ traceUrl, analyticsUrl }: RunningSystem, { pro }: DemoAccounts): string[] {
  const stats = `-H 'Authorization: Bearer ${pro.keys.analytics}' '${analyticsUrl}/api/v1/sites/${pro.site.id}`;
  const traces = `-H 'Authorization: Bearer ${pro.keys.trace}'`;
  const now = Date.now();
  const before = (ms: number) => new Date(now - ms).toISOString();
  const send = (body: object, method = "") => {
    return `-H 'Content-Type: application/json' ${method}-d '${JSON.stringify(body)}'`;
  };
  const begun = { agent_id: "support-bot", name: "Answer ticket 7", status: "running", started_at: before(32_000) };
  const times = { started_at: before(31_000), ended_at: before(750) };
  const span = { name: "call the model", status: "error", ...times, error: "connection refused" };
  const change = { status: "error", ended_at: before(0) };
  const trace = `${traceUrl}/api/v1/traces/$TRACE`;
  return [
    "Paste these:",
    "",
    "  # the Pro site's last 30 days, and its custom events",
    `  curl -s ${stats}/stats?range=30d'`,
    `  curl -s ${stats}/events?range=30d'`,
    "",
    "  # a trace that fails: the worker writes a mail",
    `  TRACE=$(curl -s ${traces} ${send(begun)} ${traceUrl}/api/v1/traces | cut -d '"' -f 4)`,
    `  curl -s ${traces} ${send(span)} ${trace}/spans`,
    `  curl -s ${traces} ${send(change, "-X PATCH ")} ${trace}`,
    `  curl -s ${traces} ${trace}`,
  ];
}

interface EntryOptions {
  databaseUrl: string;
  dashboardUrl: string;
  accounts: DemoAccounts | undefined;
  /** A link that signs in is only for a dashboard that nobody else reaches. */
  isDashboardLocal: boolean;
  isSignUpOpen: boolean;
  now: Date;
}

/** A day's work; `waymark sign-in-link` makes another. */
const lifeMs = 12 * 3_600_000;

/** Signs in as the demo; without it, leads to sign-up until somebody has an account. */
export async function findEntry(options: EntryOptions) {
  const { databaseUrl, dashboardUrl, accounts, isDashboardLocal, isSignUpOpen } = options;
  const pool = createPool({
    connectionString: databaseUrl,
    maxConnections: 1,
    applicationName: "waymark start",
    statementTimeoutMs: 10_000,
  });
  try {
    const link = accounts && isDashboardLocal ? await makeDemoLink(pool, accounts, options) : undefined;
    if (link !== undefined) return { url: link, note: "signs you in as the demo" };
    const hasPeople = (await pool.query("SELECT FROM person LIMIT 1")).rowCount !== 0;
    if (hasPeople) return { url: `${dashboardUrl}/dashboard`, note: "sign in, or use `waymark sign-in-link`" };
    if (isSignUpOpen) return { url: `${dashboardUrl}/dashboard/sign-up`, note: "make an account" };
    return { url: `${dashboardUrl}/dashboard`, note: "`waymark sign-in-link` lets you in" };
  } finally {
    await pool.end();
  }
}

/** A link that signs in once as the demo's Pro account; undefined where its people have other addresses now. */
async function makeDemoLink(pool: pg.Pool, { pro }: DemoAccounts, { dashboardUrl, now }: EntryOptions) {
  // Its name in the dashboard, until somebody gives it another.
  await pool.query("UPDATE account SET name = 'Demo' WHERE id = $1 AND name IS NULL", [pro.id]);
  return (await createSignInLink({ pool, account: pro, dashboardUrl, lifeMs, now }))?.url;
}
