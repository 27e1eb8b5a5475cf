import { describe, expect, it } from "@jest/globals";
import express, { type RequestHandler } from "express";
import { pino } from "pino";
import request from "supertest";
import { AppError, errorCodes, validationError } from "./app-error.js";
import { errorHandler, notFoundHandler } from "./error-handler.js";

function ask(handler: RequestHandler) {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const app = express();
  app.get("/", handler);
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable: (error) => error instanceof Error && error.message === "down", log }));
  return { answer: request(app).get("/"), other: request(app).get("/other"), lines };
}

describe("errorHandler", () => {
  it("writes every code as its status, its constant text and its details", async () => {
    for (const [code, { status, message }] of Object.entries(errorCodes)) {
      const { answer } = ask(() => {
        throw new AppError(code as keyof typeof errorCodes, { details: { limit: 7 }, headers: { "Retry-After": "3" } });
      });
      const response = await answer;
      expect(response.status).toBe(status);
      expect(response.body).toEqual({ error: message, limit: 7 });
      expect(response.headers["retry-after"]).toBe("3");
    }
  });

  it("keeps the contracts' texts", () => {
    expect(errorCodes).toMatchObject({
      validation_failed: { status: 400, message: "Validation failed" },
      invalid_api_key: { status: 401, message: "Invalid API key" },
      agent_limit: { status: 403, message: "Free plan limited to 1 agent" },
      trace_not_found: { status: 404, message: "Trace not found" },
      trace_limit: { status: 429, message: "Monthly trace limit reached. Upgrade to Pro." },
      internal: { status: 500, message: "Internal server error" },
    });
  });

  it("logs nothing for load above a limit", async () => {
    const { answer, lines } = ask(() => {
      throw new AppError("busy", { details: { reason: "32 MiB of spans wait" } });
    });
    expect((await answer).status).toBe(503);
    expect(lines).toEqual([]);
  });

  it("answers anything else with a constant 500 and logs the cause", async () => {
    const { answer, lines } = ask(async () => {
      throw new Error("select * from secrets failed");
    });
    const response = await answer;
    expect(response.status).toBe(500);
    expect(response.body).toEqual({ error: "Internal server error" });
    expect(lines.join()).toContain("select * from secrets failed");
  });

  it("answers a store that is down with 503 and Retry-After", async () => {
    const { answer } = ask(async () => {
      throw new Error("down");
    });
    const response = await answer;
    expect(response.status).toBe(503);
    expect(response.headers["retry-after"]).toMatch(/^\d+$/);
  });

  it("logs the first request of an outage with its cause, and then how many more there are", async () => {
    const lines: { err?: { stack: string }; requests?: number; reason?: string }[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const app = express();
    app.get("/", () => {
      throw new Error("down");
    });
    app.use(errorHandler({ isUnavailable: () => true, log }));
    for (let i = 0; i < 50; i++) await request(app).get("/").expect(503);
    const counted = () => lines.reduce((sum, { requests = 0 }) => sum + requests, 0);
    const stacks = lines.filter(({ err }) => err).length;
    for (let i = 0; i < 500 && counted() + stacks < 50; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(lines[0]?.err?.stack).toContain("down");
    expect(counted() + lines.filter(({ err }) => err).length).toBe(50);
    expect(lines.length).toBeLessThan(25);
    expect(lines.find(({ requests }) => requests)?.reason).toBe("down");
  });

  it("does not log what the client got wrong, and answers unknown paths with JSON", async () => {
    const { answer, other, lines } = ask(() => {
      throw validationError({ name: "Required" });
    });
    expect((await answer).body).toEqual({ error: "Validation failed", fields: { name: "Required" } });
    expect((await other).body).toEqual({ error: "Not found" });
    expect(lines).toEqual([]);
  });
});
