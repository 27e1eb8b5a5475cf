import { describe, expect, it } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import { Registry } from "prom-client";
import { z } from "zod";
import { listen } from "../../process/index.js";
import { mountRoutes } from "./mount-routes.js";
import { requestContext } from "./request-context.js";
import { type Route, route } from "./route.js";

describe("the server's routes since a moment", () => {
  it("are those of requests in hand, or ended since, also of clients that left, and no others", async () => {
    let release = () => {};
    const respond = (path: string, body: () => Promise<string>): Route =>
      route({
        method: "get",
        path,
        operationId: path,
        summary: path,
        answers: { 200: { description: "", schema: z.string() } },
        handle: async () => ({ status: 200, body: await body() }),
      });
    const waits = () => new Promise<string>((resolve) => (release = () => resolve("late")));
    const app = express();
    app.use(requestContext({ log: pino({ level: "silent" }), registry: new Registry() }));
    mountRoutes(app, [respond("/quick/:id", async () => "soon"), respond("/slow", waits)], { basePath: "" });
    const server = await listen({ handler: app, host: "127.0.0.1", port: 0, portVariable: "SOME_PORT" });
    const get = (path: string, options: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, options).then((answer) => answer.text());
    const start = performance.now();
    await get("/quick/1");
    await get("/quick/2", { headers: { Connection: "close" } });
    const slow = get("/slow");
    while (server.routesSince(performance.now()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect([...server.routesSince(start)].sort()).toEqual(["GET /quick/:id", "GET /slow"]);
    expect(server.routesSince(performance.now())).toEqual(["GET /slow"]);
    release();
    await slow;
    while (server.routesSince(performance.now()).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.stop(0);
  });
});
