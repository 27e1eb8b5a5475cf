import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { openCsv, parseCsvRecord } from "./format.js";

describe("parseCsvRecord", () => {
  it.each([
    ["a,b", ["a", "b"]],
    ["", [""]],
    [",", ["", ""]],
    ['"a,""b""",c', ['a,"b"', "c"]],
    ['"a\nb",', ["a\nb", ""]],
    ['"",""', ["", ""]],
    ['a"b,c', ['a"b', "c"]],
    ['"a', undefined],
    ['"a"b,c', undefined],
  ])("reads %j", (text, fields) => {
    expect(parseCsvRecord(text)).toEqual(fields);
  });

  it("reads back what is written", () => {
    const field = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(fc.array(fc.tuple(field, fc.boolean()), { minLength: 1 }), (fields) => {
        const written = fields.map(([text, isQuoted]) =>
          isQuoted || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text,
        );
        expect(parseCsvRecord(written.join(","))).toEqual(fields.map(([text]) => text));
      }),
    );
  });
});

describe("openCsv", () => {
  const open = () => openCsv(["a", "b"], (field) => ({ fields: { a: field("a"), b: field("b"), c: field("c") } }));

  it("finds the columns by the names of the first record, in any order", () => {
    const read = open();
    expect(read("x, b ,a")).toBeNull();
    expect(read("1,2,3")).toEqual({ fields: { a: "3", b: "2", c: undefined } });
    expect(read("1,,3")).toEqual({ fields: { a: "3", b: undefined, c: undefined } });
  });

  it("refuses a record with more or fewer columns, and every record of another file", () => {
    const read = open();
    read("a,b");
    expect(read("1")).toEqual({ problem: "Must have 2 columns, not 1" });
    expect(read("1,2,3")).toEqual({ problem: "Must have 2 columns, not 3" });
    const other = open();
    const problem = { problem: "The file's first line must name the columns b" };
    expect([other("a,x"), other("1,2")]).toEqual([problem, problem]);
  });
});
