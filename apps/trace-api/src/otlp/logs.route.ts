import { inSteps, route } from "@waymark/service/http";
import {
  codexStarts,
  loadOtlpMessages,
  type MappedLogs,
  mapLogs,
  type PartialSuccess,
  writeSuccess,
} from "@waymark/traces/otlp";
import type pg from "pg";
import type { ByteReserve } from "../usage/byte-reserve.js";
import { byteHeaders, byteLimitError, senderOf, type TraceQuota } from "../usage/trace-quota.js";
import { maxLogsPerSpan, maxWaitingLogs } from "./add-logs.query.js";
import { findPrompts } from "./extend-runs.query.js";
import { answersOf, bodyOf, readOtlp, sendOtlpError } from "./otlp-http.js";
import { type Refusals, spanRefusals } from "./span-refusals.js";
import type { StoreLogs, StoreLogsResult } from "./store-logs.js";
import type { StoreSpans } from "./store-spans.js";

interface LogsDeps {
  pool: pg.Pool;
  storeLogs: StoreLogs;
  storeRuns: StoreSpans;
  reserve: Pick<ByteReserve, "ahead">;
  now(): Date;
}

const requestExample = {
  resourceLogs: [
    {
      scopeLogs: [
        {
          logRecords: [
            {
              traceId: "5b8efff798038103d269b633813fc60c",
              spanId: "eee19b7ec3c1b174",
              timeUnixNano: "1769860801000000000",
              eventName: "gen_ai.user.message",
              body: { kvlistValue: { values: [{ key: "content", value: { stringValue: "What do I owe?" } }] } },
            },
          ],
        },
      ],
    },
  ],
};

/** `POST /v1/logs`: completes spans from the log records that name them, sent as OTLP over HTTP in protobuf or JSON. */
export function logsRoute(deps: LogsDeps) {
  const messages = loadOtlpMessages("logs");
  return route({
    method: "post",
    scope: "ingest",
    basePath: "",
    path: "/v1/logs",
    operationId: "exportLogs",
    summary: "Complete spans from log records of an OpenTelemetry exporter (OTLP over HTTP)",
    description:
      "Takes an `ExportLogsServiceRequest` in protobuf or JSON, also in gzip, and answers in the same encoding. A record completes the span that it names, whichever of the two comes first: events of generative AI become its `input` and `output`, `exception` the `error` of a failed span, and all others stay in its `otel.logs`. A record waits a day for its span. Events of Claude Code and Codex without spans become runs: a trace for each prompt, a span for each request and tool. Repeated records change nothing; those of a deleted trace are dropped. Errors are `google.rpc.Status`.",
    lenientQuery: [],
    body: bodyOf("resourceLogs", requestExample),
    answers: answersOf("logs", "log record", {
      200: "The log records are committed. Where some cannot be kept, `partialSuccess` has their number and the reasons",
      400: "The body cannot be read",
    }),
    sendError: sendOtlpError,
    async handle({ body, response }) {
      const { request, starts } = await readOtlp(messages, body, codexStarts);
      const sender = senderOf(response, deps.now());
      const earlier = await findPrompts(deps.pool, sender.accountId, starts);
      const mapped = await inSteps(mapLogs(request, earlier));
      const runs = await deps.storeRuns(sender, mapped.spans);
      const stored = await deps.storeLogs(sender, mapped.logs);
      const quota = { ...sender, used: runs.used ?? 0 };
      return {
        status: 200,
        headers: byteHeaders(quota, stored, deps.reserve.ahead(sender.accountId)),
        contentType: body.mediaType,
        body: writeSuccess(
          messages,
          body.mediaType,
          partialSuccessOf(mapped, stored, spanRefusals(runs, quota), quota),
        ),
      };
    },
  });
}

/** Also the refused spans of agents' events. @throws AppError 429 where the month's bytes refused all records */
function partialSuccessOf(
  { logs, refused: unfit }: MappedLogs,
  { refused, usedBytes = 0 }: StoreLogsResult,
  runs: Refusals,
  quota: TraceQuota,
): PartialSuccess | undefined {
  const { span_logs, waiting_logs, byte_limit } = refused;
  if (byte_limit > 0 && byte_limit === logs.length) throw byteLimitError(quota, usedBytes);
  const reasons = [...unfit].map(([problem, count]) => `${count}: ${problem}`);
  if (span_logs > 0)
    reasons.unshift(
      `${span_logs} of spans that would have more than ${maxLogsPerSpan.records} log records or ${maxLogsPerSpan.bytes} bytes of them`,
    );
  if (waiting_logs > 0)
    reasons.unshift(
      `${waiting_logs} while ${maxWaitingLogs.records} log records or ${maxWaitingLogs.bytes} bytes wait for spans`,
    );
  if (byte_limit > 0) reasons.unshift(`${byte_limit} over the limit of ${quota.plan.bytesPerMonth} bytes a month`);
  reasons.push(...runs.reasons);
  if (reasons.length === 0) return undefined;
  const unfitCount = [...unfit.values()].reduce((sum, count) => sum + count, 0);
  const rejected = span_logs + waiting_logs + byte_limit + runs.count + unfitCount;
  return { rejected, errorMessage: `Log records were refused: ${reasons.join("; ")}` };
}
