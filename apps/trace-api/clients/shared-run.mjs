// A run of Waymark's SDK between spans of OpenTelemetry: it belongs to their trace, and they lie above and below it.
import { context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { createWaymark } from "@waymark/client";

const resource = resourceFromAttributes({ "service.name": "otel-service" });
const provider = new NodeTracerProvider({
  resource,
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
const tracer = trace.getTracer("test");
const [url, key] = process.argv.slice(2);
const waymark = createWaymark({ key, url, traceContext: true });

await tracer.startActiveSpan("handle", async (handle) => {
  await waymark.trace({ agent_id: "otel-service", name: "A run" }, async (run) => {
    trace.getActiveSpan().setAttribute("ignored", 1).addEvent("ignored").end();
    tracer.startSpan("http call").end();
    await run.run("step", async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      tracer.startSpan("database call", {}, context.active()).end();
    });
  });
  handle.end();
});
if (!(await waymark.flush())) console.log("lost");
await provider.shutdown();
