import { IncomingMessage, type RequestListener, ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import express, { Router } from "express";
import { type Listening, listen } from "../../process/index.js";

/** The prototypes of a request and its response when Node handed them over, and when a route ran. */
const seen: { before: unknown[]; within: unknown[] } = { before: [], within: [] };
const prototypesOf = (request: unknown, response: unknown) => [
  Object.getPrototypeOf(request),
  Object.getPrototypeOf(response),
];

const app = express();
const router = Router();
router.get("/item/:id", (request, response) => {
  seen.within = prototypesOf(request, response);
  response
    .status(201)
    .set("X-Agent", request.get("user-agent") ?? "")
    .json({
      id: request.params.id,
      query: request.query["q"],
      path: request.path,
      hostname: request.hostname,
      isSameApp: request.app === app && response.app === app && request.res === response,
    });
});
router.get("/plain", (_request, response) => void response.type("text").send("plain"));
app.use("/mounted", router);

describe("an Express app behind listen", () => {
  let server: Listening;
  let url: string;
  beforeAll(async () => {
    server = await listen({ handler: app, host: "127.0.0.1", port: 0, portVariable: "PORT" });
    server.server.prependListener("request", ((request, response) => {
      seen.before = prototypesOf(request, response);
    }) as RequestListener);
    url = `http://127.0.0.1:${server.port}`;
  });
  afterAll(() => server.stop(0));

  it("gets requests and responses whose prototypes it need not change", async () => {
    await fetch(`${url}/mounted/item/1`);
    expect(seen.before[0]).toBe(app.request);
    expect(seen.before[1]).toBe(app.response);
    expect(seen.within).toEqual(seen.before);
    expect(seen.before[0]).toBeInstanceOf(IncomingMessage);
    expect(seen.before[1]).toBeInstanceOf(ServerResponse);
  });

  it("keeps Express's methods and getters, in a mounted router too", async () => {
    const answer = await fetch(`${url}/mounted/item/7?q=x`, { headers: { "User-Agent": "test" } });
    expect([answer.status, answer.headers.get("x-agent")]).toEqual([201, "test"]);
    expect(await answer.json()).toEqual({
      id: "7",
      query: "x",
      path: "/item/7",
      hostname: "127.0.0.1",
      isSameApp: true,
    });
    expect(await (await fetch(`${url}/mounted/plain`)).text()).toBe("plain");
    expect((await fetch(`${url}/other`)).status).toBe(404);
  });
});
