import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { script, useApp } from "../app.fixture.js";

describe("GET /js/script.js", () => {
  const test = useApp();

  it("is under one KB with gzip", () => {
    expect(gzipSync(script, { level: 9 }).length).toBeLessThan(1_024);
  });

  it("may be kept for an hour, by any page", async () => {
    const answer = await request(test.app).get("/js/script.js").expect(200);
    expect(answer.text).toBe(script);
    expect(answer.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=3600",
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
      "x-content-type-options": "nosniff",
    });
  });

  it("answers 304 to who has it already", async () => {
    const { headers } = await request(test.app).head("/js/script.js").expect(200);
    const etag = headers["etag"] ?? "";
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    await request(test.app).get("/js/script.js").set("If-None-Match", etag).expect(304);
    await request(test.app).get("/js/script.js").set("If-None-Match", '"other"').expect(200);
  });

  it("refuses other methods, and has nothing beside it", async () => {
    await request(test.app)
      .post("/js/script.js")
      .expect(405, { error: "Method not allowed", allowed: ["GET", "HEAD"] });
    for (const path of ["/js/", "/js/other.js", "/js/..%2fscript.js", "/assets/script.js"]) {
      await request(test.app).get(path).expect(404, { error: "Not found" });
    }
  });
});
