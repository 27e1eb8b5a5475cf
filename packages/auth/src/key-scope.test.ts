import { describe, expect, it } from "@jest/globals";
import { keyScopes } from "./api-key.js";
import { requireScope, scopeProblem } from "./principal-of.js";

describe("a key's scope", () => {
  it("suffices for its own requests, and 'all' for every one", () => {
    const sufficient = keyScopes.map((scope) => keyScopes.filter((needed) => !scopeProblem(scope, needed)));
    expect(sufficient).toEqual([["ingest"], ["read"], ["ingest", "read", "all"]]);
  });

  it("is named beside the scopes that would do, with the challenge of RFC 6750", () => {
    const challenge = (needed: string) => `Bearer realm="waymark", error="insufficient_scope", scope="${needed}"`;
    expect(() => requireScope({ scope: "ingest" }, "read")).toThrow(
      expect.objectContaining({
        status: 403,
        body: { error: "This key has the scope 'ingest'; the request needs a key with the scope 'read' or 'all'" },
        headers: { "WWW-Authenticate": challenge("read") },
      }),
    );
    expect(() => requireScope({ scope: "read" }, "all")).toThrow(
      expect.objectContaining({
        body: { error: "This key has the scope 'read'; the request needs a key with the scope 'all'" },
        headers: { "WWW-Authenticate": challenge("all") },
      }),
    );
  });
});
