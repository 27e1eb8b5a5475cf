import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMessageClasses } from "@waymark/service";
import express from "express";

/**
 * The yardstick: an Express app that only parses the body and answers, without keys, validation, logs or counters. GET sends
 * the bytes of the last PUT /memory. With `--classes` its messages have the classes of our service.
 */
const app = express();
app.disable("x-powered-by");
app.set("etag", false);
const id = "019c13f2-6c00-7cc3-98c4-dc0c0c07398f";
let memory = "{}";

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

const classes = process.argv.includes("--classes") ? createMessageClasses(app, () => undefined) : {};
const server = createServer(classes, app).listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ msg: "listening", port: (server.address() as AddressInfo).port }));
});
