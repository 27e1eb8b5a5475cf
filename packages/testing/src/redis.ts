import { describe } from "@jest/globals";

/** The URL of the tests' Redis; undefined on a machine without `redis-server`. */
function testRedisUrl(): string | undefined {
  return process.env["TEST_REDIS_URL"];
}

/** Runs a suite with the URL of Redis. Without Redis, jest reports it as skipped, by name. */
export function describeWithRedis(name: string, suite: (redisUrl: string) => void): void {
  const url = testRedisUrl();
  if (url) describe(name, () => suite(url));
  else describe.skip(`${name} (needs redis-server on the PATH)`, () => suite("redis://127.0.0.1:1"));
}
