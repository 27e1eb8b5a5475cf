import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { describeApi } from "../openapi/openapi.js";
import { route } from "../route/route.js";
import { docsPage } from "./docs-page.js";

const api = describeApi({
  title: "An API <b>",
  version: "1",
  description: "Reads `things` & <script>alert(1)</script>.\n\nSecond paragraph.",
  basePath: "/api/v1",
  keyForm: "key_…",
  routes: [
    route({
      method: "post",
      path: "/things/:id",
      operationId: "addThing",
      summary: "Add a thing",
      params: { id: "The thing" },
      query: z.object({ dry: z.enum(["yes", "no"]).default("no").describe("Whether to only look") }),
      body: z.object({ name: z.string().describe("Its name"), note: z.string().nullish() }),
      bodyExample: { name: "it's" },
      answers: { 201: { description: "Added", schema: z.object({ id: z.string() }), example: { id: "1" } } },
      handle: async () => ({ status: 201, body: {} }),
    }),
  ],
});

describe("describeApi", () => {
  it("writes paths, parameters and bodies in OpenAPI's form", () => {
    const operation = api.paths["/api/v1/things/{id}"]?.["post"];
    expect(operation?.parameters).toEqual([
      { name: "id", in: "path", required: true, description: "The thing", schema: { type: "string" } },
      {
        name: "dry",
        in: "query",
        required: false,
        description: "Whether to only look",
        schema: expect.objectContaining({ enum: ["yes", "no"], default: "no" }),
      },
    ]);
    expect(operation?.requestBody?.content["application/json"]?.schema.required).toEqual(["name"]);
    expect(JSON.stringify(api)).not.toContain("$schema");
  });
});

describe("docsPage", () => {
  const page = docsPage(api, "https://api.example.com");

  it("shows each call with a command to paste, quoted for a shell", () => {
    expect(page).toContain("curl -X POST https://api.example.com/api/v1/things/{id}");
    expect(page).toContain("-d &#39;{&#34;name&#34;:&#34;it&#39;\\&#39;&#39;s&#34;}&#39;");
    expect(page).toContain("<code>name</code>");
    expect(page).toContain("required");
  });

  it("has a form for each call, with its parameters and an example of its body", () => {
    expect(page).toContain('<form class="try" data-method="POST" data-path="/api/v1/things/{id}">');
    expect(page).toContain('name="path:id" required');
    expect(page).toContain('name="query:dry"');
    expect(page).toContain("&#34;name&#34;: &#34;it&#39;s&#34;");
  });

  it("lets nothing through as markup", () => {
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toContain("<script>alert");
    expect(page).toContain("An API &#60;b&#62;");
    expect(page).toContain("<code>things</code>");
  });
});

describe("a service without keys", () => {
  const open = describeApi({
    title: "Open",
    version: "1",
    description: "Takes anything.",
    basePath: "",
    routes: [
      route({
        method: "post",
        path: "/x",
        operationId: "x",
        summary: "X",
        answers: {
          202: {
            description: "Taken",
            schema: z.literal("ok"),
            example: "ok",
            contentType: "text/plain",
            headers: ["X-Y"],
          },
        },
        handle: async () => ({ status: 202, body: "ok" }),
      }),
    ],
  });

  it("is described without any, and with the types that it answers in", () => {
    expect(open.security).toBeUndefined();
    expect(open.components).toBeUndefined();
    expect(open.paths["/ready"]?.["get"]?.security).toEqual([]);
    expect(open.paths["/x"]?.["post"]?.responses["202"]).toEqual({
      description: "Taken",
      headers: { "X-Y": { schema: { type: "string" } } },
      content: { "text/plain": { schema: { type: "string", const: "ok" }, example: "ok" } },
    });
  });

  it("shows commands without one", () => {
    const page = docsPage(open, "https://api.example.com");
    expect(page).toContain("curl -X POST https://api.example.com/x");
    expect(page).toContain("<pre>text/plain\n\nok</pre>");
    expect(page).not.toContain("Authorization");
    expect(page).not.toContain("<script");
  });
});
