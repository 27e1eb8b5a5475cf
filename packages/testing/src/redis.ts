import { describe } from "@jest/globals";

/** The Redis that `pnpm test` started, or undefined where the machine has no `redis-server`. */
function testRedisUrl(): string | undefined {
  return process.env["TEST_REDIS_URL"];
}

/** A suite that needs Redis: runs with its URL, or is reported as skipped, by name, where there is none. */
export function describeWithRedis(name: string, suite: (redisUrl: string) => void): void {
  const url = testRedisUrl();
  if (url) describe(name, () => suite(url));
  else describe.skip(`${name} (needs redis-server on the PATH)`, () => suite("redis://127.0.0.1:1"));
}
