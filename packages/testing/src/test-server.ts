/** A test database's URL past the pooler of `pnpm test --pooler`; another URL as it is, also outside of tests. */
export function directUrlOf(url: string): string {
  if (!process.env["TEST_DATABASE_URL"]) return url;
  const [pooled, direct] = [testServerUrl(), directServerUrl()].map((each) => new URL(each).host);
  return url.replace(`@${pooled}/`, `@${direct}/`);
}

/** The programs with a role of their own on the tests' server. */
export type Service = "trace-api" | "analytics-api" | "collector" | "worker" | "dashboard";

interface DatabaseVariables {
  DATABASE_URL: string;
  DIRECT_DATABASE_URL: string;
  DATABASE_POOLER?: "transaction";
}

/** How a service reaches a test's database, as variables of its environment. */
export function databaseVariables(service: Service, url: string): DatabaseVariables {
  const urls = { DATABASE_URL: url, DIRECT_DATABASE_URL: directUrlOf(url) };
  const isPooled = urls.DIRECT_DATABASE_URL !== url;
  if (!isPooled || process.env["WAYMARK_TEST_POOLER"] !== "transaction") return urls;
  const byRole = new URL(url);
  byRole.username = service;
  return { ...urls, DATABASE_URL: byRole.href, DATABASE_POOLER: "transaction" };
}

export function directServerUrl(): string {
  return process.env["TEST_DIRECT_DATABASE_URL"] ?? testServerUrl();
}

export function testServerUrl(): string {
  const url = process.env["TEST_DATABASE_URL"];
  if (url) return url;
  throw new Error(
    "TEST_DATABASE_URL is not set. Run tests through `pnpm test`, or `pnpm test --filter=@waymark/NAME` for one package.",
  );
}
