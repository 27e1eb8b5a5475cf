import { type ApiDescription, describeApi, type Route, route } from "@waymark/service/http";
import { z } from "zod";

/** The dashboard's own paths of data; the two APIs are for programs. */
const description =
  "The data of the dashboard's pages, by the session's cookie. It changes with the pages, without notice.";

/** Describes the routes, itself included, to a viewer. */
export function describeRoutesRoute(basePath: string, routes: readonly Route[]): Route {
  const own = route({
    method: "get",
    path: "/openapi.json",
    operationId: "describeRoutes",
    summary: "These paths as an OpenAPI document",
    answers: { 200: { description: "The document", schema: z.looseObject({ openapi: z.string() }) } },
    handle: async () => ({ status: 200, body: document }),
  });
  const api: ApiDescription = {
    title: "Waymark dashboard",
    version: "1",
    description,
    basePath,
    routes: [...routes, own],
  };
  const document = describeApi(api);
  return own;
}
