import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { errorHandler } from "@waymark/errors";
import express from "express";
import { pino } from "pino";
import { Registry } from "prom-client";
import request from "supertest";
import { z } from "zod";
import { createRefusals, createShares } from "../limits/shares.js";
import { mountRoutes } from "./mount-routes.js";
import { route } from "./route.js";

const mebibyte = 1_048_576;
/** More than the sockets of both sides buffer. */
const answerBytes = 20 * mebibyte;

const answersOf = (path: string, bytes: number) =>
  route({
    method: "get",
    path,
    operationId: path,
    summary: path,
    answers: { 200: { description: "", schema: z.string() } },
    handle: async () => ({ status: 200, contentType: "text/plain", body: "x".repeat(bytes) }),
  });

describe("an answer that its client does not take", () => {
  it("counts until its client leaves: 429 for further large ones, and none for small ones", async () => {
    const limits = { name: "answer_bytes", total: 30 * mebibyte, perAccount: 30 * mebibyte, reason: () => "At most" };
    const shares = createShares(limits, createRefusals(new Registry()));
    const app = express();
    const routes = [answersOf("/large", answerBytes), answersOf("/small", 65_000)];
    mountRoutes(app, routes, { basePath: "", answers: { shares, ownerOf: () => "account" } });
    app.use(errorHandler({ isUnavailable: () => false, log: pino({ level: "silent" }) }));
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const begun = new Promise((resolve) => server.once("request", resolve));
    socket.pause();
    socket.write("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    await begun;
    await request(server).get("/small").expect(200);
    const { body } = await request(server).get("/large").expect(429);
    expect(body).toEqual({ error: "Too much in progress for this account", reason: "At most of one account" });
    socket.destroy();
    // The server is told soon after.
    for (let attempt = 1; (await request(server).get("/large")).status === 429; attempt++) {
      if (attempt === 100) throw new Error("what was held is not given back");
    }
    server.closeAllConnections();
    server.close();
  });
});
