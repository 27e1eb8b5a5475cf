import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { tracker, useApp } from "../app.fixture.js";
import { composeTracker, extensionNames } from "./get-script.route.js";

describe("GET /js/script.js", () => {
  const test = useApp();

  const { script } = tracker;

  it("is under one KB with gzip, and under two with all extensions", async () => {
    expect(gzipSync(script, { level: 9 }).length).toBeLessThan(1_024);
    const { text } = await request(test.app)
      .get("/js/script.form-submissions.file-downloads.outbound-links.js")
      .expect(200);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(2_048);
    for (const name of extensionNames) expect(text).toContain(name);
  });

  it("has extensions in any order, each combination with a tag of its own", async () => {
    const read = (names: string) => request(test.app).get(`/js/script.${names}.js`);
    const [one, both, turned] = [
      await read("outbound-links"),
      await read("outbound-links.file-downloads"),
      await read("file-downloads.outbound-links"),
    ];
    expect(one.text).toBe(composeTracker(tracker, ["outbound-links"]));
    expect([turned.text, turned.headers["etag"]]).toEqual([both.text, both.headers["etag"]]);
    expect(one.headers["etag"]).not.toBe(both.headers["etag"]);
    await read("outbound-links")
      .set("If-None-Match", one.headers["etag"] ?? "")
      .expect(304);
    for (const wrong of ["other", "outbound-links.other", "outbound-links.outbound-links", "", "hash"]) {
      await read(wrong).expect(404, { error: "Not found" });
    }
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
