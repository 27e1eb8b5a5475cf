import { describe, expect, it } from "@jest/globals";
import { writeCsv } from "./list-rows.js";

describe("a CSV", () => {
  it.each([
    ["=1+1", `"'=1+1"`],
    ["+1", `"'+1"`],
    ["-1", `"'-1"`],
    ["@SUM(A1)", `"'@SUM(A1)"`],
    ["\t=1", `"'\t=1"`],
    ["\r=1", `"'\r=1"`],
    ["\n=1", `"'\n=1"`],
    ["＝1", `"'＝1"`],
    ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
    ['a"b', '"a""b"'],
    ['"=1', '"""=1"'],
    ["a,=1", '"a,=1"'],
    ["a;=1", '"a;=1"'],
    ["a\r\nb", '"a\r\nb"'],
    ["a\nb", '"a\nb"'],
    ["a\rb", '"a\rb"'],
    [" ", '" "'],
    ["日本 é 🎉", '"日本 é 🎉"'],
    ["42", '"42"'],
  ])("writes %j so that it is one cell and no formula", (value, cell) => {
    const text = writeCsv("utmCampaigns", [{ campaign: value, visitors: 1, pageviews: 2 }]);
    expect(text).toBe(`"campaign","visitors","pageviews"\r\n${cell},1,2\r\n`);
  });

  it("of a list without rows is its header", () => {
    expect(writeCsv("topReferrers", [])).toBe('"source","visitors"\r\n');
  });
});
