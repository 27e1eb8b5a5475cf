/** Settings of images and Compose: `docker/.env.example` lists them in its last group. */
export const settingsOfImages = [
  "DATABASE_URL",
  "DIRECT_DATABASE_URL",
  "DATABASE_POOLER",
  "REDIS_URL",
  "HOST",
  "METRICS_HOST",
  "WAYMARK_DATA_DIR",
  "TRACE_API_METRICS_PORT",
  "ANALYTICS_API_METRICS_PORT",
  "COLLECTOR_METRICS_PORT",
  "WORKER_METRICS_PORT",
  "DASHBOARD_METRICS_PORT",
] as const;

/** Settings of the command line and the SDK, which their documents name; no container reads them. */
export const settingsOfClients = [
  "WAYMARK_TRACE_KEY",
  "WAYMARK_TRACE_URL",
  "WAYMARK_STATS_KEY",
  "WAYMARK_STATS_URL",
  "TARGET_DATABASE_URL",
] as const;

/** Values pinned by the Compose files; others serve builds without those registries or networks. */
export const pinnedByCompose = [
  "POSTGRES_IMAGE",
  "REDIS_IMAGE",
  "NODE_IMAGE",
  "CADDY_IMAGE",
  "EDGE_SUBNET_V6",
] as const;

/** Variables of other programs and of tests. */
const otherVariables = new Set([
  "NO_COLOR",
  "PATH",
  "KEEP_DB",
  "NODE_ENV",
  "REQUIRE_REDIS",
  "RESEND_BASE_URL",
  "STRIPE_BASE_URL",
  "TEST_DATABASE_URL",
  "TEST_DIRECT_DATABASE_URL",
  "WAYMARK_TEST_POOLER",
  "WAYMARK_TEST_POSTGRES",
  "TEST_REDIS_URL",
]);

/** The variables in a source: fields of a configuration's shape, `env["X"]`, `env.X`, and names of password variables. */
export function findVariables(text: string): string[] {
  const patterns = [
    /^ {2,4}([A-Z][A-Z0-9_]+): /gm,
    /\benv\["([A-Z][A-Z0-9_]+)"\]/g,
    /\benv\.([A-Z][A-Z0-9_]+)\b/g,
    /"([A-Z][A-Z0-9_]+_DB_PASSWORD|WAYMARK_[A-Z_]+)"/g,
  ];
  const names = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ""));
  return [...new Set(names)].filter((name) => !otherVariables.has(name));
}

export function readTable(document: string): string[][] {
  const rows = document.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

export function codeIn(cell = ""): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}

/** Errors as `status message`, from the table of codes and from the HTTP server's refusals before a route. */
export function findErrors(errorCodes: string, listen: string): string[] {
  const coded = [...errorCodes.matchAll(/status: (\d{3}), message: "([^"]+)"/g)];
  const refused = [...listen.matchAll(/\[([45]\d\d), "[^"]+", "([^"]+)"\]/g)];
  return [...new Set([...coded, ...refused].map(([, status, message]) => `${status} ${message}`))].sort();
}

export function findJobs(jobs: string, queues: string): string[] {
  return [...`${jobs}${queues}`.matchAll(/\bname: "([^"]+)"/g)].map((match) => match[1] ?? "").sort();
}

/** Whether a row of the documents, `…` at its end meaning any text, means an error of the code. */
export function meansError(documented: string, error: string): boolean {
  return documented.endsWith("…") ? error.startsWith(documented.slice(0, -1).trimEnd()) : error === documented;
}
