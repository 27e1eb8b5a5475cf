import { describe, expect, it } from "@jest/globals";
import { linkIn } from "./app-process.js";

describe("the terminal's line for a mail", () => {
  it("has its one-time link in one piece, and none of an alert", () => {
    const mail =
      "Confirm the address: =\nhttp://127.0.0.1:4000/dashboard/link/mTw_aX74=\nfwp0no\nThe link works once\n";
    expect(linkIn(mail)).toBe("http://127.0.0.1:4000/dashboard/link/mTw_aX74fwp0no");
    expect(linkIn("Open the trace: http://127.0.0.1:4000/dashboard/traces/1")).toBeUndefined();
  });
});
