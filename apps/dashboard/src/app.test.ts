import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "./dashboard.fixture.js";

describe("GET /dashboard/api/openapi.json", () => {
  const dashboard = useDashboard();

  it("lists its routes to a viewer, also those without a session and itself", async () => {
    const viewer = await dashboard.signIn(await dashboard.makeAccount());
    const answer = await viewer.get("/openapi.json");
    expect(answer.status).toBe(200);
    const { paths } = answer.body;
    expect(paths["/dashboard/api/keys"]).toMatchObject({
      get: { parameters: [] },
      post: {
        requestBody: { required: true, content: { "application/json": { schema: { required: ["name", "service"] } } } },
      },
    });
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(["/webhooks/stripe", "/dashboard/api/sign-in", "/dashboard/api/openapi.json"]),
    );
  });

  it("answers 401 without a session", async () => {
    expect((await dashboard.anonymous().get("/openapi.json")).status).toBe(401);
  });
});
