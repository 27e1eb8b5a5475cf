import { expect, it } from "@jest/globals";
import type { Request, Response } from "express";
import { authenticate } from "./authenticate.js";
import type { Principal } from "./find-key.query.js";

/** The status of a request, 200 where it passes. */
function ask(method: string, move?: Principal["move"]): unknown {
  const principal: Principal = { accountId: "a", keyId: "k", plan: "pro", scope: "all", ...(move && { move }) };
  const request = { method, headers: { authorization: "Bearer k" } } as Request;
  const response = { locals: {} } as Response;
  let passed = false;
  try {
    authenticate("trace", { find: () => principal })(request, response, () => {
      passed = true;
    });
  } catch (error) {
    const { status, headers } = error as { status: number; headers: object };
    return [status, headers];
  }
  return passed && 200;
}

it("lets an account read while it moves, and sends it away once another cell has it", () => {
  const away = [503, { "Retry-After": "5" }];
  const answers = (move?: Principal["move"]) => ["GET", "HEAD", "POST", "PATCH", "DELETE"].map((it) => ask(it, move));
  expect(answers()).toEqual([200, 200, 200, 200, 200]);
  expect(answers("moving")).toEqual([200, 200, away, away, away]);
  for (const move of ["moved", "finishing", "undoing", "arriving"] as const) {
    expect(answers(move)).toEqual([away, away, away, away, away]);
  }
});
