import { route } from "@waymark/service/http";
import { loadOtlpMessages, metricKinds, type Requests, writeSuccess } from "@waymark/traces/otlp";
import { answersOf, bodyOf, readOtlp, sendOtlpError } from "./otlp-http.js";

const errorMessage = "Metrics are not kept: send traces to /v1/traces and logs to /v1/logs";

/** `POST /v1/metrics`: answers 200 and keeps nothing, so exporters that also send metrics go on quietly. */
export function metricsRoute() {
  const messages = loadOtlpMessages("metrics");
  return route({
    method: "post",
    scope: "ingest",
    basePath: "",
    path: "/v1/metrics",
    operationId: "exportMetrics",
    summary: "Refuse metrics of an OpenTelemetry exporter quietly (OTLP over HTTP)",
    description:
      "Takes an `ExportMetricsServiceRequest` in protobuf or JSON, keeps nothing of it, and says so in `partialSuccess`, so exporters that send every signal to one address go on. Errors are `google.rpc.Status`.",
    lenientQuery: [],
    body: bodyOf("resourceMetrics", { resourceMetrics: [] }),
    answers: answersOf("metrics", "data point", {
      200: "Nothing is kept; `partialSuccess` has the number of data points",
      400: "The body cannot be read",
    }),
    sendError: sendOtlpError,
    async handle({ body }) {
      const rejected = await readOtlp(messages, body, countPoints);
      return {
        status: 200,
        contentType: body.mediaType,
        body: writeSuccess(messages, body.mediaType, rejected > 0 ? { rejected, errorMessage } : undefined),
      };
    },
  });
}

/** Its steps are the resources: each takes short. */
function* countPoints({ resourceMetrics }: Requests["metrics"]): Generator<void, number> {
  let points = 0;
  for (const { scopeMetrics } of resourceMetrics) {
    for (const metric of scopeMetrics.flatMap(({ metrics }) => metrics))
      points += metricKinds.reduce((sum, kind) => sum + (metric?.[kind]?.dataPoints.length ?? 0), 0);
    yield;
  }
  return points;
}
