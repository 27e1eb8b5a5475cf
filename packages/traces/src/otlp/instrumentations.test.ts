import { expect, it } from "@jest/globals";
import { instrumentationOf } from "./kind.js";

it.each([
  ["@opentelemetry/instrumentation-http", "http"],
  ["@opentelemetry/instrumentation-undici", "http"],
  ["opentelemetry.instrumentation.requests", "http"],
  ["io.opentelemetry.okhttp-3.0", "http"],
  ["go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "http"],
  ["System.Net.Http", "http"],
  ["@opentelemetry/instrumentation-fs", "fs"],
  ["@opentelemetry/instrumentation-net", "net"],
  ["@opentelemetry/instrumentation-dns", "dns"],
  ["@opentelemetry/instrumentation-redis-4", "database"],
  ["@prisma/instrumentation", "database"],
  ["opentelemetry.instrumentation.sqlalchemy", "database"],
  ["@opentelemetry/instrumentation-openai", null],
  ["opentelemetry.instrumentation.openai.v1", null],
  ["http-agent", null],
  ["", null],
  ["-1".repeat(10_000), null],
] as const)("reads %s as %s", (scope, instrumentation) => {
  expect(instrumentationOf(scope)).toBe(instrumentation);
});
