// Apps that do nothing, in place of a service: the measure of its own cost. IDLE_APP is `express`, which parses bodies and answers,
// without keys, validation, logs or counters; `express-classes`, the same with the classes of our services' messages; or
// `collector`, the collector's own app with a store that forgets each beacon.
import { createServer } from "node:http";
import { createLogger, createMessageClasses, createRegistry, listen } from "@waymark/service";
import { createAddressReader } from "@waymark/service/limits";
import { openCountryDirectory } from "@waymark/web-stats/analytics";
import express from "express";

const { IDLE_APP: kind, IDLE_PORT: port } = process.env;
const host = "127.0.0.1";

/** GET sends the bytes of the last PUT /memory. */
function createExpressApp() {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  const id = "019c13f2-6c00-7cc3-98c4-dc0c0c07398f";
  let memory = "{}";
  app.post("/api/event", express.text({ type: () => true }), (_request, response) => {
    response.status(202).end();
  });
  app.put("/memory", express.text({ type: () => true, limit: "64mb" }), (request, response) => {
    memory = request.body;
    response.end();
  });
  app.use(express.json({ limit: "4mb" }));
  app.use(express.raw({ limit: "4mb", type: "application/x-protobuf" }));
  app.post("/api/v1/traces", (_request, response) => {
    response.status(201).json({ trace_id: id });
  });
  app.post("/api/v1/traces/:trace_id/spans", (_request, response) => {
    response.status(201).json({ span_id: id });
  });
  app.post("/api/v1/traces/:trace_id/spans/batch", (request, response) => {
    response.status(201).json({ span_ids: request.body.spans.map(() => id) });
  });
  app.post("/v1/traces", (_request, response) => {
    response.json({});
  });
  app.patch("/api/v1/traces/:trace_id", (_request, response) => {
    response.json({ ok: true });
  });
  app.get("/api/v1/traces/:trace_id", (_request, response) => {
    response.type("application/json").send(memory);
  });
  return app;
}

async function createCollectorApp() {
  const { createApp } = await import("../../../apps/collector/dist/app.js");
  const { createClientReader } = await import("../../../apps/collector/dist/event/read-client.js");
  const countries = await openCountryDirectory(undefined);
  const trustedProxies = ["127.0.0.1"];
  const addressOf = createAddressReader(trustedProxies);
  return createApp({
    recorder: { record: async () => ({ dropped: null }) },
    readClient: createClientReader({ addressOf, trustedProxies, countryHeader: undefined, countries }),
    addressOf,
    eventsPerSecond: { perAddress: 0, perSite: 0 },
    isSpam: () => false,
    tracker: { script: "", extensions: "" },
    checks: { required: {} },
    log: createLogger({ service: "idle-app", level: "info" }),
    registry: createRegistry("idle-app"),
  });
}

if (kind === "collector")
  await listen({ handler: await createCollectorApp(), host, port: Number(port), portVariable: "none" });
else {
  const app = createExpressApp();
  const classes = kind === "express-classes" ? createMessageClasses(app, () => undefined) : {};
  // Without `listen` of our service, which bounds connections and sets headers.
  await new Promise((resolve) => createServer(classes, app).listen(Number(port), host, resolve));
}
process.send({ kind: "running", port: Number(port) });
