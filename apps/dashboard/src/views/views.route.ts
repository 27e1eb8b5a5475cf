import { textField } from "@waymark/service/fields";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import { createView, deleteView, listViews, renameView } from "./views.query.js";

export type ViewList = AnswerOf<typeof viewRoutes, "get /views">;
export type ViewBody = z.output<typeof viewBody>;

const name = textField({ max: 80 })
  .transform((text) => text.trim())
  .refine((text) => text !== "", "Give the view a name");

const viewBody = z.strictObject({
  name,
  /** Of the list's address, with its question mark; empty without filters. */
  query: textField({ max: 2_000 }).regex(/^(?:\?[^#\s]*)?$/, "Must be the query of an address"),
});

/** Saved views of the list of traces. Members may do all of it. */
export function viewRoutes({ pool }: AppDeps) {
  return [
    viewerRoute("get", "/views", {
      handle: async ({ viewer }) => ({ views: await listViews(pool, viewer.accountId) }),
    }),
    viewerRoute("post", "/views", {
      body: viewBody,
      status: 201,
      handle: ({ viewer, body }) => createView(pool, viewer.accountId, body),
    }),
    viewerRoute("patch", "/views/:view_id", {
      body: z.strictObject({ name }),
      handle: ({ viewer, params, body }) => renameView(pool, viewer.accountId, params["view_id"] ?? "", body.name),
    }),
    viewerRoute("delete", "/views/:view_id", {
      handle: ({ viewer, params }) => deleteView(pool, viewer.accountId, params["view_id"] ?? ""),
    }),
  ];
}
