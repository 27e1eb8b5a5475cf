import { describe, expect, it } from "@jest/globals";
import { AppError, errorHandler } from "@waymark/errors";
import express, { type RequestHandler } from "express";
import { pino } from "pino";
import request from "supertest";
import { z } from "zod";
import { createBytesReader } from "../body/body-bytes.js";
import { createBodyReader } from "../body/json-body.js";
import { mountRoutes } from "./mount-routes.js";
import { route } from "./route.js";

const requireKey: RequestHandler = (incoming, _response, next) => {
  if (incoming.get("authorization")) return next();
  throw new AppError("invalid_api_key");
};

const media = { schema: z.unknown() };

const routes = [
  route({
    method: "post",
    basePath: "",
    path: "/import",
    operationId: "import",
    summary: "Import",
    answers: {},
    body: { "text/csv": media, "application/x-ndjson": media },
    sendError: (response, error) => void response.status(error.status).type("text").send(`failed: ${error.code}`),
    handle: async ({ body: { mediaType, bytes } }) => {
      return { status: 200, contentType: mediaType, body: Buffer.from(`${bytes.length}`) };
    },
  }),
  route({
    method: "get",
    path: "/things",
    operationId: "things",
    summary: "Things",
    answers: {},
    handle: async () => ({ status: 200, body: { things: [] } }),
  }),
  route({
    method: "post",
    path: "/things/batch",
    operationId: "addThings",
    summary: "Add things",
    answers: {},
    handle: async () => ({ status: 201, body: {} }),
  }),
  route({
    method: "patch",
    path: "/things/:thing_id",
    operationId: "changeThing",
    summary: "Change a thing",
    answers: {},
    body: z.object({ parts: z.array(z.int()) }),
    handle: async ({ body: { parts } }) => ({ status: 200, body: { parts: parts.length } }),
  }),
];

const app = express();
mountRoutes(app, routes, {
  basePath: "/api",
  guards: [requireKey],
  readBytes: createBytesReader(1_000),
  readBody: createBodyReader(1_000_000),
});
app.use(errorHandler({ isUnavailable: () => false, log: pino({ level: "silent" }) }));

const send = (type: string) => request(app).post("/import").set("Authorization", "key").type(type).send("abc");

describe("a route that decodes its body", () => {
  it("gets the media type and the bytes, and sends bytes as they are", async () => {
    const answer = await send("text/csv; header=present").expect(200).expect("Content-Type", "text/csv");
    expect([answer.text, answer.headers["content-length"]]).toEqual(["3", "1"]);
  });

  it("answers 415 for other media types", async () => {
    const answer = await send("application/json").expect(415);
    expect(answer.text).toBe("failed: unsupported_media_type");
  });
});

describe("a route with its own errors and base path", () => {
  it("sends the errors of its guards and of its path", async () => {
    expect((await request(app).post("/import").expect(401)).text).toBe("failed: invalid_api_key");
    expect((await request(app).get("/import").expect(405)).text).toBe("failed: method_not_allowed");
  });

  it("leaves the errors of other routes alone", async () => {
    await request(app).get("/api/things").expect(401, { error: "Invalid API key" });
  });
});

describe("below the base path", () => {
  it("an earlier path refuses the methods of a later path that has it as an id", async () => {
    await request(app).patch("/api/things/batch").expect(401);
    await request(app).patch("/api/things/batch").set("Authorization", "key").expect(405).expect("Allow", "POST");
    await request(app).patch("/api/things/1").set("Authorization", "key").send({ parts: [] }).expect(200);
  });

  it("unknown paths and methods need a key, too", async () => {
    await request(app).get("/api/nothing").expect(401);
    await request(app).post("/api/things").expect(401);
    await request(app).post("/api/things").set("Authorization", "key").expect(405).expect("Allow", "GET, HEAD");
    await request(app).get("/api/nothing").set("Authorization", "key").expect(404);
  });

  it("reads a long list of a body without opaque members whole", async () => {
    const parts = Array.from({ length: 50_000 }, (_, n) => n);
    const changed = await request(app).patch("/api/things/1").set("Authorization", "x").send({ parts }).expect(200);
    expect(changed.body).toEqual({ parts: 50_000 });
  });
});
