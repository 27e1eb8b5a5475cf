import { describe, expect, it } from "@jest/globals";
import { formatFields, formatTable } from "./terminal-text.js";

describe("formatTable", () => {
  it("aligns columns under their titles and shows absent values as a dash", () => {
    const rows = [
      { id: "1", last_used_at: null },
      { id: "22", last_used_at: "today" },
    ];
    expect(formatTable(["id", "last_used_at"], rows)).toBe("ID  LAST USED AT\n1   -\n22  today");
  });

  it("aligns by the columns that characters take on a terminal", () => {
    const rows = [
      { name: "客服", id: 1 },
      { name: "abc", id: 2 },
    ];
    expect(formatTable(["name", "id"], rows)).toBe("NAME  ID\n客服  1\nabc   2");
  });

  it("keeps control characters away from the terminal", () => {
    expect(formatTable(["name"], [{ name: "a\u001b[31m\nb" }])).toBe("NAME\na [31m b");
  });
});

describe("formatFields", () => {
  it("aligns values", () => {
    expect(formatFields({ id: 1, domain: "example.com" })).toBe("id      1\ndomain  example.com");
  });
});
