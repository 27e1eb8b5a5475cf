// The baselines of the collector: NULL_APP=express answers 202 and does nothing else; NULL_APP=collector is the collector's
// own app, which reads and checks each beacon, with a store that forgets it at once.

import { openCountryDirectory } from "@waymark/analytics";
import { createLogger, createRegistry, listen } from "@waymark/service";
import express from "express";
import { createApp } from "../dist/app.js";
import { createClientReader } from "../dist/event/read-client.js";

const log = createLogger({ service: "null-app", level: "info" });

async function createCollectorApp() {
  const countries = await openCountryDirectory(undefined);
  return createApp({
    collector: { collect: async () => ({ dropped: null }) },
    readClient: createClientReader({ trustedProxies: ["127.0.0.1"], countryHeader: undefined, countries }),
    addressOf: (request) => request.socket.remoteAddress ?? "",
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
  app.post("/api/event", (_request, response) => {
    response.status(202).end();
  });
  return app;
}

const handler = process.env.NULL_APP === "collector" ? await createCollectorApp() : createExpressApp();
const server = await listen({ handler, host: "127.0.0.1", port: 0, portVariable: "none" });
log.info({ port: server.port }, "listening");
process.on("SIGTERM", () => process.exit());
