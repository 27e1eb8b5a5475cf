/** A test database's URL past the pooler of `pnpm test --pooler`; another URL as it is, also outside of tests. */
export function directUrlOf(url: string): string {
  if (!process.env["TEST_DATABASE_URL"]) return url;
  const [pooled, direct] = [testServerUrl(), directServerUrl()].map((each) => new URL(each).host);
  return url.replace(`@${pooled}/`, `@${direct}/`);
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
