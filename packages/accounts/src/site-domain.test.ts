import { describe, expect, it } from "@jest/globals";
import { AccountError } from "./accounts.js";
import { normaliseDomain } from "./sites.js";

describe("normaliseDomain", () => {
  it.each([
    ["example.com", "example.com"],
    ["https://Example.com/", "example.com"],
    ["  WWW.Example.COM  ", "www.example.com"],
    ["http://example.com:8080/blog?x=1#top", "example.com"],
    ["example.com/blog", "example.com"],
    ["example.com:3000", "example.com"],
    ["example.com.", "example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["https://日本語.example/", "xn--wgv71a119e.example"],
    ["my_blog.example.com", "my_blog.example.com"],
    ["localhost", "localhost"],
    ["127.0.0.1", "127.0.0.1"],
  ])("takes %j for %j", (text, domain) => {
    expect(normaliseDomain(text)).toBe(domain);
  });

  it.each([
    "",
    "   ",
    "example",
    "1",
    "0x7f.1",
    "two words.com",
    "me@example.com",
    "https://user:secret@example.com/",
    "ftp://example.com/",
    "javascript:alert(1)",
    "https://",
    "-example.com",
    "*.example.com",
    "a..example.com",
    "[::1]",
    "exa\u0000mple.com",
    `${"a".repeat(64)}.com`,
    `${"abc.".repeat(70)}com`,
  ])("refuses %j with a sentence", (text) => {
    expect(() => normaliseDomain(text)).toThrow(AccountError);
    expect(() => normaliseDomain(text)).toThrow(/is not a domain\. Give one like example\.com\.$/);
  });
});
