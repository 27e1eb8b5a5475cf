import { gzipSync } from "node:zlib";
import fc, { type Arbitrary } from "fast-check";
import { inParallel } from "../load/client.js";
import type { Tenant } from "../system/tenant.js";
import { nameOf, type Operation } from "./operations.js";
import type { PlannedRequest } from "./plan-request.js";

export interface CostlyRequest {
  operation: Operation;
  planned: PlannedRequest;
}

type Planned = Pick<PlannedRequest, "path" | "headers" | "body">;

/** Characters that the values of `contains` may have in a filter. */
const maxPartCharacters = 1_000;
const bodyLength = 4_100_000;
const longPaths = 1_000;
const pathLength = 1_900;
const startedAt = "2026-11-21T09:00:00.000Z";
const json = { "Content-Type": "application/json" };

/** Texts that nearly occur in a site's paths, as `fillSite` makes them. */
const needle = fc
  .record({ before: fc.stringMatching(/^[a-c]{0,2}$/), length: fc.integer({ min: 1, max: 40 }), after: fc.nat(99) })
  .map(({ before, length, after }) => `${before}${"a".repeat(length)}${after}`);

const filter = fc
  .record({
    dimension: fc.constantFrom("page", "page", "prop.kind", "host", "source", "event"),
    operator: fc.constantFrom("contains", "containsNot", "is", "isNot"),
    values: fc.array(needle, { minLength: 20, maxLength: 50 }),
  })
  .map(({ dimension, operator, values }) => {
    const length = Math.floor(maxPartCharacters / values.length);
    const most = operator.startsWith("contains") ? length : Number.POSITIVE_INFINITY;
    return `${dimension}:${operator}:${values.map((value) => value.slice(-most)).join("|")}`;
  });
const filtersQuery = fc
  .array(filter, { minLength: 5, maxLength: 10 })
  .map((all) => `range=7d&filters=${all.join(";")}`);
const statisticsQuery = filtersQuery.map((query) => `${query}&compare=previous`);

/** Arrays, objects, digits and escapes at the length of a body. */
const largeJson = fc.constantFrom(
  () => `[${"1,".repeat(bodyLength / 2 - 2)}1]`,
  () => `[${"{},".repeat(bodyLength / 3 - 2)}{}]`,
  () => `"${"\\u00e4".repeat(bodyLength / 6 - 2)}"`,
  () => `${"[".repeat(190)}${"]".repeat(190)}`,
  () => `{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":${n}`).join(",")}}`,
  () => "9".repeat(bodyLength),
);

const span = (input: string) => `{"name":"step","status":"ok","started_at":"${startedAt}","input":${input}}`;
const batch = fc.oneof(
  fc.integer({ min: 900, max: 1_000 }).map((count) => `{"spans":[${Array(count).fill(span('"x"')).join(",")}]}`),
  fc.integer({ min: 1, max: 1_300_000 }).map((count) => `{"spans":[${"1,".repeat(count)}1],"spans":[]}`),
  fc.integer({ min: 500, max: 1_000 }).map(
    (count) =>
      `{"spans":[${Array(count)
        .fill(span(`"${"x".repeat(3_900)}"`))
        .join(",")}]}`,
  ),
);

/** OpenTelemetry spans of as many traces, with one large resource. */
export function otlpOf(spans: number, resourceBytes: number, traces = spans): string {
  const attributes = [{ key: "blob", value: { stringValue: "x".repeat(resourceBytes) } }];
  const nanos = "1795251600000000000";
  const many = Array.from({ length: spans }, (_, n) => ({
    traceId: ((n % traces) + 1).toString(16).padStart(32, "0"),
    spanId: (n + 1).toString(16).padStart(16, "0"),
    name: "s",
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
  }));
  const body = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: many }] }] };
  return JSON.stringify(body);
}

const otlp = fc
  .record({ spans: fc.integer({ min: 1_000, max: 24_000 }), bytes: fc.integer({ min: 0, max: 60_000 }) })
  .map(({ spans, bytes }) => gzipSync(otlpOf(spans, bytes, 2_000), { level: 1 }));

const pattern = fc
  .record({ stars: fc.integer({ min: 1, max: 10 }), part: fc.constantFrom("a", "aa", "ab", "a".repeat(190)) })
  .map(({ stars, part }) => `/${`*${part}`.repeat(stars)}`);
const goal = pattern.map((page) => JSON.stringify({ name: "goal", page }));

const get = (path: string, query: Arbitrary<string>): Arbitrary<Planned> =>
  query.map((text) => ({ path: `${path}?${text}`, headers: {}, body: undefined }));
const post = (path: string, body: Arbitrary<string | Buffer>, headers: Record<string, string> = json) =>
  body.map((each): Planned => ({ path, headers, body: each }));

const site = "{{site:0}}";
const trace = "{{trace:0}}";

/** Requests at the maxima of their limits, by their operation. */
const costly: Readonly<Record<string, Arbitrary<Planned>>> = {
  "dashboard GET /dashboard/api/sites/{id}/stats": get(`/dashboard/api/sites/${site}/stats`, statisticsQuery),
  "dashboard GET /dashboard/api/sites/{id}/events": get(`/dashboard/api/sites/${site}/events`, filtersQuery),
  "dashboard GET /dashboard/api/sites/{id}/goals": get(`/dashboard/api/sites/${site}/goals`, filtersQuery),
  "dashboard GET /dashboard/api/sites/{id}/goals/count": get(
    `/dashboard/api/sites/${site}/goals/count`,
    pattern.map((page) => `page=${page}`),
  ),
  "dashboard POST /dashboard/api/sites/{id}/goals": post(`/dashboard/api/sites/${site}/goals`, goal),
  "analytics-api GET /api/v1/sites/{id}/stats": get(`/api/v1/sites/${site}/stats`, statisticsQuery),
  "analytics-api GET /api/v1/sites/{id}/goals": get(`/api/v1/sites/${site}/goals`, filtersQuery),
  "trace-api POST /api/v1/traces": post(
    "/api/v1/traces",
    largeJson.map(
      (make) => `{"agent_id":"a","name":"n","status":"error","started_at":"${startedAt}","metadata":{"x":${make()}}}`,
    ),
  ),
  "trace-api POST /api/v1/traces/{trace_id}/spans": post(
    `/api/v1/traces/${trace}/spans`,
    largeJson.map((make) => span(make())),
  ),
  "trace-api POST /api/v1/traces/{trace_id}/spans/batch": post(`/api/v1/traces/${trace}/spans/batch`, batch),
  "trace-api POST /v1/traces": post("/v1/traces", otlp, { ...json, "Content-Encoding": "gzip" }),
  "trace-api GET /api/v1/traces": get(
    "/api/v1/traces",
    needle.map((text) => `limit=200&name=${text}`),
  ),
  "trace-api GET /api/v1/traces/stream": get("/api/v1/traces/stream", fc.constant("status=error,running")),
};

/**
 * Plans requests that cost as much as their limits allow, to the services of the operations.
 * @throws Error for an operation that its service has no more
 */
export function planCostly(operations: readonly Operation[]): Arbitrary<CostlyRequest> {
  const services = new Set<string>(operations.map(({ service }) => service));
  const chosen = Object.entries(costly).filter(([name]) => services.has(name.split(" ", 1)[0] ?? ""));
  const all = chosen.map(([name, arbitrary]) => {
    const operation = operations.find((each) => nameOf(each) === name);
    if (!operation) throw new Error(`No service has ${name}`);
    return arbitrary.map((planned) => ({
      operation,
      planned: { method: operation.method, credential: "right" as const, ...planned },
    }));
  });
  return fc.oneof(...all);
}

/** Gives a tenant's site page views and custom events of today, each with long texts of its own. */
export async function fillSite(
  collectorUrl: string,
  { domain }: Pick<Tenant, "domain">,
  count = longPaths,
): Promise<void> {
  const filler = "a".repeat(pathLength);
  await inParallel(count, async (n) => {
    const props = n % 2 === 1 ? { kind: `${filler}${n}` } : undefined;
    const body = { name: props ? "step" : "pageview", url: `https://${domain}/${filler}${n}`, domain, props };
    const answer = await fetch(`${collectorUrl}/api/event`, {
      method: "POST",
      headers: {
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
        "X-Forwarded-For": `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
      },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    if (answer.status !== 202) throw new Error(`The collector answered ${answer.status}`);
  });
}
