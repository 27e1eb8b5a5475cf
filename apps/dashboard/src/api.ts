import { describeApi, pageRoute, type Route } from "@waymark/service/http";

/** Lists the routes with the schemas of their requests, itself included, for `pnpm fuzz` and `pnpm isolation`. */
export function describeRoutesRoute(basePath: string, routes: readonly Route[]): Route {
  const own = pageRoute({
    method: "get",
    path: "/openapi.json",
    handle: async () => ({ status: 200, body: document }),
  });
  const document = describeApi({
    title: "Waymark dashboard",
    version: "1",
    description: "",
    basePath,
    routes: [...routes, own],
  });
  return own;
}
