import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import { otherValue } from "@waymark/web-stats/lists";
import {
  coverageAnswer,
  customEvent,
  eventBounds,
  rangeAnswer,
  rangeQuery,
  readEvents,
  readInTime,
  readOwnSite,
  resolveRange,
  type StatisticsDeps,
} from "@waymark/web-stats/statistics";
import { z } from "zod";
import { otherNote, siteAnswers } from "../api.js";

const eventsSchema = named(
  "Events",
  z.object({ ...rangeAnswer, events: z.array(customEvent), coverage: coverageAnswer }),
);

/** `GET /sites/:id/events` (statistics contract, "GET /api/v1/sites/:id/events"), with extensions. */
export function getEventsRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/events",
    operationId: "getEvents",
    summary: "Read a site's custom events with their properties",
    description: `The most frequent event comes first. \`properties\` has an object per property, with a count per value. The answer has the ${eventBounds.names} most frequent events, of each property the ${eventBounds.valuesPerProperty} most frequent values, and at most 1 MiB in all; \`${otherValue}\` counts the rest.\n\nExtensions: \`from\` and \`to\` in place of \`range\`, and \`filters\`. ${otherNote}`,
    params: { id: "The site's id" },
    query: rangeQuery,
    lenientQuery: ["range"],
    answers: siteAnswers({
      description: "The site's custom events in the range",
      schema: eventsSchema,
      example: { range: "7d", events: [{ name: "signup", count: 12, properties: { plan: { pro: 8, free: 4 } } }] },
    }),
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const body = await readOwnSite(deps, principalOf(input.response), input, ({ id: siteId }, filtering) =>
        readInTime(asked, readEvents(deps.pool, { siteId, days, filtering })),
      );
      return { status: 200, body: { ...asked, ...body } };
    },
  });
}
