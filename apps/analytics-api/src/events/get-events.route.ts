import { named, route } from "@waymark/service/http";
import { otherValue } from "@waymark/web-stats/lists";
import {
  checkRange,
  coverageAnswer,
  type DayColumns,
  eventBounds,
  type Filtering,
  filtersParameter,
  type ReadShares,
  rangeAnswer,
  rangeParameters,
  readCustomEvents,
  readEventDays,
  readFilteredEvents,
  readInTime,
  resolveRange,
} from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { invalidQuery, limitHeaders, otherNote, siteNotFound } from "../api.js";
import { readOwnFiltered } from "../reads/read-own-site.js";

const properties = z.record(z.string(), z.record(z.string(), z.number()));
const eventsSchema = named(
  "Events",
  z.object({
    ...rangeAnswer,
    events: z.array(z.object({ name: z.string(), count: z.number(), properties })),
    coverage: coverageAnswer,
  }),
);

/** `GET /sites/:id/events` (statistics contract, "GET /api/v1/sites/:id/events"), with extensions. */
export function getEventsRoute(deps: { pool: pg.Pool; reads: ReadShares; columns: DayColumns; now(): Date }) {
  const { pool, now } = deps;
  return route({
    method: "get",
    path: "/sites/:id/events",
    operationId: "getEvents",
    summary: "Read a site's custom events with their properties",
    description: `The most frequent event comes first. \`properties\` has an object per property, with a count per value. The answer has the ${eventBounds.names} most frequent events, of each property the ${eventBounds.valuesPerProperty} most frequent values, and at most 1 MiB in all; \`${otherValue}\` counts the rest.\n\nExtensions: \`from\` and \`to\` in place of \`range\`, and \`filters\`. ${otherNote}`,
    params: { id: "The site's id" },
    query: z.object({ ...rangeParameters, filters: filtersParameter }).superRefine(checkRange),
    lenientQuery: ["range"],
    answers: {
      200: {
        description: "The site's custom events in the range",
        schema: eventsSchema,
        example: { range: "7d", events: [{ name: "signup", count: 12, properties: { plan: { pro: 8, free: 4 } } }] },
        headers: limitHeaders,
      },
      400: invalidQuery,
      404: siteNotFound,
    },
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, now());
      const read = async (siteId: string, filtering: Filtering | undefined) => {
        if (!filtering) return { events: await readCustomEvents(pool, { siteId, ...days }) };
        const [events, coverage] = [
          await readFilteredEvents(filtering, { siteId, days }),
          await readEventDays(pool, { siteId, ...days }),
        ];
        return { events, ...(coverage && { coverage }) };
      };
      const body = await readOwnFiltered(deps, input, (siteId, filtering) =>
        readInTime(asked, read(siteId, filtering)),
      );
      return { status: 200, body: { ...asked, ...body } };
    },
  });
}
