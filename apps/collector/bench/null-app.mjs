// The baselines of the collector, by NULL_APP: `express` reads the body, answers 202 and does nothing else; `express-classes` is the
// same with the classes of our service's messages; `collector` is the collector's own app, which reads and checks each
// beacon, with a store that forgets it at once.

import { createServer } from "node:http";
import { createLogger, createMessageClasses, createRegistry, listen } from "@waymark/service";
import { createAddressReader } from "@waymark/service/limits";
import { openCountryDirectory } from "@waymark/web-stats/analytics";
import express from "express";
import { createApp } from "../dist/app.js";
import { createClientReader } from "../dist/event/read-client.js";

const log = createLogger({ service: "null-app", level: "info" });

async function createCollectorApp() {
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
    log,
    registry: createRegistry("null-app"),
  });
}

function createExpressApp() {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(express.text({ type: () => true }));
  app.post("/api/event", (_request, response) => {
    response.status(202).end();
  });
  return app;
}

/** Without `listen` of our service, which bounds connections and sets headers. */
function listenPlainly(app, classes = {}) {
  return new Promise((resolve) => {
    const server = createServer(classes, app).listen(0, "127.0.0.1", () => resolve(server.address()));
  });
}

async function open(kind) {
  if (kind === "collector") {
    return listen({ handler: await createCollectorApp(), host: "127.0.0.1", port: 0, portVariable: "none" });
  }
  const app = createExpressApp();
  return listenPlainly(app, kind === "express-classes" ? createMessageClasses(app, () => undefined) : undefined);
}

const { port } = await open(process.env.NULL_APP);
log.info({ port }, "listening");
process.on("SIGTERM", () => process.exit());
