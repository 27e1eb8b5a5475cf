import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isOpenPath, localPath } from "./paths.js";

describe("localPath", () => {
  it("keeps a page with its query", () => {
    expect(localPath("/dashboard/traces/tr_1?span=sp_2")).toBe("/dashboard/traces/tr_1?span=sp_2");
  });

  it.each([
    ["nothing", null],
    ["another host", "https://example.com/dashboard/"],
    ["a host without scheme", "//example.com/dashboard"],
    ["a host after a backslash", "/\\example.com"],
    ["a host after two backslashes", "\\\\example.com/dashboard"],
    ["a host after three slashes", "///example.com/dashboard/"],
    ["a host after a tab", "/\t/example.com/dashboard"],
    ["a host after a line's end", "/\n/example.com"],
    ["a host after spaces", "  https://example.com/dashboard"],
    ["a host that begins like a page", "/dashboard@example.com"],
    ["a host after dots", "/dashboard/..//example.com"],
    ["encoded dots", "/dashboard/%2e%2e/%2e%2e/example.com"],
    ["dots after backslashes", "/dashboard\\..\\..\\example.com"],
    ["a script", "javascript:alert(1)"],
    ["a script in capitals", "JaVaScRiPt:alert(1)//dashboard/"],
    ["a document", "data:text/html,<script>alert(1)</script>"],
    ["a path outside", "/webhooks/stripe"],
    ["a path that leads outside", "/dashboard/../v1"],
    ["a page without a session", "/dashboard/sign-in?next=/dashboard/"],
    ["data", "/dashboard/api/me"],
    ["a longer word", "/dashboards"],
  ])("leads home for %s", (_name, next) => {
    expect(localPath(next)).toBe("/dashboard/");
  });

  it("never leaves the origin", () => {
    const near = fc.stringMatching(/^[/\\.:@#?a-z]*$/).map((tail) => `/dashboard${tail}`);
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (next) => {
        const url = new URL(localPath(next), "http://own.test");
        expect(url.origin).toBe("http://own.test");
        expect(url.pathname.startsWith("/dashboard")).toBe(true);
      }),
    );
  });
});

describe("isOpenPath", () => {
  it("knows the pages before a session", () => {
    expect(isOpenPath("/dashboard/link/abc")).toBe(true);
    expect(isOpenPath("/dashboard/sign-in")).toBe(true);
    expect(isOpenPath("/dashboard/sign-inside")).toBe(false);
    expect(isOpenPath("/dashboard/traces")).toBe(false);
  });
});
