import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { errorHandler, notFoundHandler } from "@waymark/errors";
import express from "express";
import { pino } from "pino";
import request from "supertest";
import { dashboardRoutes } from "./public-routes.js";

const appWith = (dashboardUrl: string | undefined) =>
  express()
    .use(dashboardRoutes(dashboardUrl))
    .use(notFoundHandler)
    .use(errorHandler({ isUnavailable: () => false, log: pino({ level: "silent" }) }));
const app = appWith("https://waymark.example");

/** Sends a request target as it is: clients normalize it. */
async function locationOf(target: string): Promise<string | undefined> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.end(`GET ${target} HTTP/1.1\r\nHost: traces.example\r\nConnection: close\r\n\r\n`);
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  server.close();
  expect(answer).toMatch(/^HTTP\/1\.1 (302|4\d\d) /);
  return /^location: (.*)$/im.exec(answer)?.[1]?.trim();
}

describe("requests below /dashboard", () => {
  it.each([
    "/dashboard",
    "/dashboard/",
    "/dashboard/billing",
    "/dashboard/billing?from=api&x=a%26b",
    "/dashboard/traces/019c13f2-6c00-7cc3-98c4-dc0c0c07398f?span=1",
  ])("lead to the dashboard with path and query: %s", async (path) => {
    const { headers } = await request(app).get(path).expect(302);
    expect(headers["location"]).toBe(`https://waymark.example${path}`);
    await request(app).head(path).expect(302).expect("Location", `https://waymark.example${path}`);
  });

  it.each([
    "//evil.example/dashboard/x",
    "//evil.example//dashboard",
    "/dashboard//evil.example",
    "/dashboard/\\\\evil.example",
    "/dashboard/..//evil.example",
    "/dashboard/%2f%2fevil.example",
    "/dashboard/%5c%5cevil.example",
    "/dashboard@evil.example",
    "/dashboard.evil.example/",
    "/dashboard/%0d%0aLocation:%20https://evil.example",
    "/dashboard/?next=https://evil.example",
    "/dashboard/%",
    "http://evil.example/dashboard/x",
  ])("lead to no other host: %s", async (target) => {
    const location = await locationOf(target);
    if (location !== undefined) expect(new URL(location).origin).toBe("https://waymark.example");
  });

  it("are refused with other methods, and other paths are not theirs", async () => {
    await request(app).post("/dashboard/billing").expect(405).expect("Allow", "GET, HEAD");
    for (const path of ["/dashboardx", "/", "/x/dashboard"]) await request(app).get(path).expect(404);
  });

  it("lead nowhere without a dashboard", async () => {
    await request(appWith(undefined)).get("/dashboard/billing").expect(200);
    await request(appWith(undefined)).get("/dashboard/sign-in").expect(404);
  });
});
