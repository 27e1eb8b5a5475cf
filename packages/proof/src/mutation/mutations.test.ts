import { describe, expect, it } from "@jest/globals";
import { findMutations } from "./mutations.js";

const afterOf = (source: string) => findMutations(source).map(({ after }) => after);

describe("mutations", () => {
  it("change operators, constants and conditions of TypeScript", () => {
    expect(afterOf("  if (a === 1 && !isOpen) return true;")).toEqual([
      "if (a !== 1 && !isOpen) return true;",
      "if (a === 1 || !isOpen) return true;",
      "if (a === 1 && isOpen) return true;",
      "if (a === 1 && !isOpen) return false;",
      "if (a === 2 && !isOpen) return true;",
    ]);
  });

  it("change conditions of SQL", () => {
    expect(afterOf("    WHERE a.id = $1 AND a.ended_at IS NULL")).toEqual([
      "WHERE a.id = $1 OR a.ended_at IS NULL",
      "WHERE a.id = $1 AND a.ended_at IS NOT NULL",
    ]);
  });

  it("leave out statements", () => {
    expect(afterOf("    await pool.end();")).toEqual([""]);
  });

  it("leave imports, types and comments alone, and all other lines as they are", () => {
    expect(findMutations('import { a } from "1";\n// a && b\n * 1 < 2\n  readonly length: 1;\n}')).toEqual([]);
    const [mutation] = findMutations("const a = 1;\nconst b = a < c;\n").filter(({ line }) => line === 2);
    expect(mutation?.source).toBe("const a = 1;\nconst b = a <= c;\n");
  });
});
