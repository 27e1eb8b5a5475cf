import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "@jest/globals";
import request from "supertest";
import { useDashboard } from "../dashboard.fixture.js";
import { pageParts } from "./page-parts.js";
import { readPages } from "./pages.js";

const html = "<!doctype html><title>Waymark</title>";
const script = `console.log(${JSON.stringify("x".repeat(2000))})`;
const folder = mkdtempSync(join(tmpdir(), "waymark-pages-"));
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
mkdirSync(join(folder, "assets"));
mkdirSync(join(folder, ".vite"));
write("index.html", html);
write("assets/index-abc.js", script);
write("assets/team-def.js", "export {}");
write("assets/table-ghi.js", "export {}");
write("assets/style-jkl.css", "a{}");
write("secret.txt", "secret");
write(
  ".vite/manifest.json",
  JSON.stringify({
    "index.html": { file: "assets/index-abc.js", isEntry: true },
    "_table.js": { file: "assets/table-ghi.js", imports: ["index.html"] },
    "account-pages.tsx": { file: "assets/team-def.js", imports: ["index.html", "_table.js"] },
  }),
);

const dashboard = useDashboard({ pages: readPages(pathToFileURL(`${folder}/`)) });
afterAll(() => rmSync(folder, { recursive: true }));

const get = (path: string, headers: Record<string, string> = {}) => request(dashboard.app).get(path).set(headers);
const asBytes = (test: request.Test) =>
  test.buffer(true).parse((response, done) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => done(null, Buffer.concat(chunks)));
  });

describe("200", () => {
  it.each(["/dashboard", "/dashboard/", "/dashboard/traces", "/dashboard/traces/tr_1?span=2", "/dashboard/a/b/c/d"])(
    "answers %s with the page",
    async (path) => {
      const answer = await get(path).expect(200);
      expect(answer.text).toBe(html);
      expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(answer.headers["cache-control"]).toBe("no-cache");
      expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
    },
  );

  it.each([
    ["index-abc.js", "text/javascript; charset=utf-8"],
    ["style-jkl.css", "text/css; charset=utf-8"],
  ])("has browsers keep %s for a year", async (name, type) => {
    const answer = await get(`/dashboard/assets/${name}`).expect(200);
    expect(answer.headers["content-type"]).toBe(type);
    expect(answer.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
  });

  it("sends the encoding that the client prefers", async () => {
    const path = "/dashboard/assets/index-abc.js";
    const raw = (encoding: string) => asBytes(request(dashboard.app).get(path).set("Accept-Encoding", encoding));
    const plain = await raw("identity").expect(200);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers["vary"]).toContain("Accept-Encoding");
    expect(String(plain.body)).toBe(script);
    const zipped = await get(path, { "Accept-Encoding": "gzip" });
    expect(zipped.headers["content-encoding"]).toBe("gzip");
    expect(Number(zipped.headers["content-length"])).toBeLessThan(200);
    const br = await raw("gzip, deflate, br").expect(200);
    expect(br.headers["content-encoding"]).toBe("br");
    expect(String(br.body)).toBe(script);
  });

  it("names the part of the asked page and its first data in Link", async () => {
    const { link } = (await get("/dashboard/team")).headers;
    expect(link?.split(", ")).toEqual([
      "</dashboard/assets/team-def.js>; rel=modulepreload",
      "</dashboard/assets/table-ghi.js>; rel=modulepreload",
      "</dashboard/api/people>; rel=preload; as=fetch; crossorigin",
      "</dashboard/api/audit>; rel=preload; as=fetch; crossorigin",
      "</dashboard/api/me>; rel=preload; as=fetch; crossorigin",
    ]);
  });

  it("names no data for an address with a query, which may ask for others", async () => {
    const { link } = (await get("/dashboard/team?x=1")).headers;
    expect(link).not.toContain("/dashboard/api");
  });

  it("fills ids into the data's address, and nothing else", async () => {
    const { link } = (await get("/dashboard/link/Abc-1_2")).headers;
    expect(link).toContain("</dashboard/api/link?token=Abc-1_2>");
    expect((await get("/dashboard/link/a%3E%22,b")).headers["link"]).toBeUndefined();
  });

  it("answers HEAD without a body", async () => {
    const answer = await request(dashboard.app).head("/dashboard/traces").expect(200);
    expect(answer.headers["etag"]).toMatch(/^W\/"[\w-]{22}"$/);
    expect(answer.text).toBeUndefined();
  });
});

describe("304", () => {
  it.each(["/dashboard/traces", "/dashboard/assets/index-abc.js"])("answers %s for the same ETag", async (path) => {
    const { etag } = (await get(path)).headers;
    await get(path, { "If-None-Match": `"other", ${etag}` }).expect(304);
    await get(path, { "If-None-Match": '"other"' }).expect(200);
  });
});

describe("302", () => {
  it("leads from / to the dashboard", async () => {
    expect((await get("/").expect(302)).headers["location"]).toBe("/dashboard/");
  });
});

describe("404", () => {
  it.each([
    "/dashboard/assets/gone-123.js",
    "/dashboard/assets/",
    "/dashboard/assets/..%2Fsecret.txt",
    "/dashboard/assets/..%2F.vite%2Fmanifest.json",
    "/dashboard/assets/%2e%2e/secret.txt",
    "/secret.txt",
    "/dashboards",
  ])("answers %s as JSON", async (path) => {
    const answer = await get(path).expect(404);
    expect(answer.body).toEqual({ error: "Not found" });
  });

  it("answers HEAD of an unknown asset, too", async () => {
    await request(dashboard.app).head("/dashboard/assets/gone-123.js").expect(404);
  });

  it("answers an unknown path of data as JSON, never the page", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const answer = await person.get("/nothing").expect(404);
    expect(answer.body).toEqual({ error: "Not found" });
    await get("/dashboard/api/nothing").expect(401);
  });
});

describe("405", () => {
  it("answers writes to an asset", async () => {
    const write = request(dashboard.app).post("/dashboard/assets/index-abc.js").set("Sec-Fetch-Site", "same-origin");
    expect((await write.expect(405)).headers["allow"]).toBe("GET, HEAD");
  });
});

describe("the pages' parts", () => {
  it("are those of the browser's half", () => {
    const source = readFileSync(new URL("../../web/pages.ts", import.meta.url), "utf8");
    const listed = [...source.matchAll(/^ {2}"([^"]+)": part\(\(\) =>\s+import\("\.\/([^"]+)\.js"\)/gm)];
    const sources = listed.map(([, path, file]) => `${path} ${file}.tsx`);
    expect(sources.length).toBeGreaterThan(5);
    expect(pageParts.map(({ path, source }) => `${path} ${source}`).sort()).toEqual(sources.sort());
  });

  it("unzip to the same bytes", () => {
    const { bodies } = readPages(pathToFileURL(`${folder}/`)).files.get("assets/index-abc.js") ?? {};
    expect(String(gunzipSync(bodies?.gzip ?? ""))).toBe(script);
  });
});
