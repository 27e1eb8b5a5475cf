// A browser, which calls a gateway, which calls an agent: a process each, one trace. The arguments name who fails, and who this is.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { context, propagation, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const [failing, self = "browser", traceparent] = process.argv.slice(2);
const callee = { browser: "gateway", gateway: "agent" }[self];
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": self }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
const tracer = trace.getTracer("processes");

/** Starts the next process below this one's call, and waits for its end. */
async function call() {
  const headers = {};
  propagation.inject(context.active(), headers);
  const args = [...process.execArgv, process.argv[1], failing, callee, headers.traceparent];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  await once(child, "exit");
}

await context.with(propagation.extract(context.active(), { traceparent }), () =>
  tracer.startActiveSpan(`${self} request`, async (request) => {
    await tracer.startActiveSpan(callee ? `call ${callee}` : "work", async (span) => {
      if (callee) await call();
      span.end();
    });
    if (failing === self || failing === "all")
      request.setStatus({ code: SpanStatusCode.ERROR, message: `the ${self} fails` });
    request.end();
  }),
);
await provider.shutdown();
