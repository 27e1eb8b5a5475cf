import type { Route } from "@waymark/service/http";
import type { McpTool } from "@waymark/service/mcp";
import type { Request, RequestHandler, Response } from "express";

/** The tools of the statistics API. */
export function statisticsTools(routes: { listSites: Route; getStats: Route; getEvents: Route }): McpTool[] {
  return [
    { name: "list_sites", description: "List the account's sites with their ids.", route: routes.listSites },
    {
      name: "get_stats",
      description: "Read a site's visitors, page views, sources and other figures of a range.",
      route: routes.getStats,
    },
    {
      name: "get_events",
      description: "Read a site's custom events of a range, with their properties.",
      route: routes.getEvents,
    },
  ];
}

/** Calls guards of the API one after the other, as for a request of its own. */
export function passGuards(guards: readonly RequestHandler[]) {
  return async ({ request, response }: { request: Request; response: Response }): Promise<void> => {
    for (const guard of guards) await guard(request, response, () => undefined);
  };
}
