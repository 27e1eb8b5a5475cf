import { textField } from "@waymark/service/fields";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import { findByName } from "./find.query.js";

export type FoundNames = AnswerOf<typeof findRoutes, "get /find">;

const findQuery = z.object({
  q: textField({ min: 1, max: 200 }).refine((text) => text.trim() !== "", "Must have a word"),
});

export function findRoutes({ pool }: Pick<AppDeps, "pool">) {
  return [
    viewerRoute("get", "/find", {
      query: findQuery,
      handle: async ({ viewer, query }) => ({ found: await findByName(pool, viewer.accountId, query.q) }),
    }),
  ];
}
