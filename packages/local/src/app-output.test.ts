import { describe, expect, it } from "@jest/globals";
import { linkIn } from "./app-output.js";

describe("the terminal's line for a mail", () => {
  it("has its link in one piece: a one-time link, or the trace of an alert", () => {
    const mail =
      "Confirm the address: =\nhttp://127.0.0.1:4000/dashboard/link/mTw_aX74=\nfwp0no\nThe link works once\n";
    expect(linkIn(mail)).toBe("http://127.0.0.1:4000/dashboard/link/mTw_aX74fwp0no");
    const trace = "http://127.0.0.1:4000/dashboard/traces/01a20272-e235-7152";
    expect(linkIn(`Open the trace: ${trace}-b=\n63f-ff8e65343de8\nOr`)).toBe(`${trace}-b63f-ff8e65343de8`);
    expect(linkIn("See http://127.0.0.1:4000/dashboard/billing")).toBeUndefined();
  });
});
