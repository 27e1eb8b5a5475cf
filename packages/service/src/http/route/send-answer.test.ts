import { describe, expect, it } from "@jest/globals";
import express from "express";
import request from "supertest";
import { sendAnswer } from "./send-answer.js";

describe("an answer as text", () => {
  it.each([
    ["short", "ä日😀"],
    ["long", "ä日😀".repeat(1_000)],
    ["long, in ASCII", "abc".repeat(1_000)],
    ["long, in Latin-1", "äöü".repeat(1_000)],
  ])("arrives as it is: %s", async (_kind, text) => {
    const app = express();
    app.get("/", (_request, response) => void sendAnswer(response, { status: 200, body: { text } }));
    const answer = await request(app).get("/").expect(200);
    expect(answer.body).toEqual({ text });
    expect(answer.headers["content-length"]).toBe(String(Buffer.byteLength(`${JSON.stringify({ text })}\n`)));
    await request(app)
      .head("/")
      .expect(200)
      .expect("Content-Length", answer.headers["content-length"] ?? "");
  });
});
