import { describe, expect, it } from "@jest/globals";
import { pastedId } from "./pasted-id.js";

describe("a pasted text", () => {
  it("has an id as an id, an address or a header, and else none", () => {
    const id = "0198a3c4-0000-7000-8000-00000000000a";
    expect(pastedId(` ${id.toUpperCase()} `)).toEqual({ id });
    expect(pastedId(`https://waymark.example.com/dashboard/traces/${id}?span=1`)).toEqual({ id });
    const digits = id.replaceAll("-", "");
    expect(pastedId(digits.toUpperCase())).toEqual({ id, otelTraceId: digits });
    expect(pastedId(`00-${digits}-00f067aa0ba902b7-01`)).toEqual({ id, otelTraceId: digits });
    for (const other of [`invoke_agent ${id}`, "refund", `${digits}0`, digits.slice(1), "00f067aa0ba902b7", ""])
      expect(pastedId(other)).toBeUndefined();
  });
});
