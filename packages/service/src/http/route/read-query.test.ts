import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@waymark/errors";
import type { Request } from "express";
import { z } from "zod";
import { createQueryReader, type QueryRules } from "./read-query.js";

const query = z.object({
  agent_id: z.string().optional(),
  status: z.string().optional(),
  min_duration_ms: z.string().optional(),
  limit: z.string().regex(/^\d+$/, "Must be a number").optional(),
});

/** The parsed query, or the messages of its refusal. */
function read(rules: QueryRules<z.ZodObject>, given: Record<string, unknown>): unknown {
  try {
    return createQueryReader(rules)({ query: given } as unknown as Request);
  } catch (error) {
    return (error as AppError).body["fields"];
  }
}

describe("a query", () => {
  it.each([
    ["agent", "agent_id"],
    ["agentId", "agent_id"],
    ["agent-id", "agent_id"],
    ["Limit", "limit"],
    ["limt", "limit"],
    ["sttaus", "status"],
    ["min_duration", "min_duration_ms"],
  ])("with %s is refused, and told of %s", (name, near) => {
    expect(read({ query }, { [name]: "x" })).toEqual({ [name]: `Unknown parameter; did you mean ${near}?` });
  });

  it("with a name that is near none is told all that there are", () => {
    const sentence = "Unknown parameter; allowed are: agent_id, status, min_duration_ms, limit";
    for (const name of ["", "x", "cursor", "a".repeat(5_000)])
      expect(read({ query }, { [name]: "1" })).toEqual({ [name]: sentence });
    expect(read({}, { limit: "1" })).toEqual({ limit: "Unknown parameter; there are none here" });
  });

  it("is told what is wrong and what is unknown at once, of many names the first ten", () => {
    expect(read({ query }, { limit: "x", agent: "y" })).toEqual({
      limit: "Must be a number",
      agent: "Unknown parameter; did you mean agent_id?",
    });
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`n${n}`, "x"]));
    expect(Object.keys(read({ query }, many) as object)).toHaveLength(10);
    const proto = JSON.parse('{"__proto__":"x"}');
    expect(Object.keys(read({ query }, proto) as object)).toEqual(["__proto__"]);
  });

  it("of a contract's operation may have unknown names, until it uses a parameter beyond the contract", () => {
    const lenient = { query, lenientQuery: ["status"] };
    expect(read(lenient, { agent: "x", status: "error" })).toEqual({ status: "error" });
    expect(read(lenient, { agent: "x", limit: "1" })).toEqual({ agent: "Unknown parameter; did you mean agent_id?" });
    expect(read(lenient, { status: "error", limit: "1" })).toEqual({ status: "error", limit: "1" });
    expect(read({ lenientQuery: [] }, { anything: "x" })).toBeUndefined();
  });
});
