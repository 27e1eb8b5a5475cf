import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/http";
import { otherValue } from "@waymark/lists";
import {
  checkRange,
  type EventRow,
  eventBounds,
  foldedNote,
  rangeParameters,
  readEvents,
  readInTime,
  requireSite,
  resolveRange,
} from "@waymark/statistics";
import type pg from "pg";
import { z } from "zod";
import { commonAnswers, invalidQuery, limitHeaders, siteNotFound } from "../api.js";
import type { ReadShares } from "../reads/read-shares.js";

const properties = z.record(z.string(), z.record(z.string(), z.number()));
const eventsSchema = named(
  "Events",
  z.object({
    range: z.string(),
    from: z.string().optional().describe("Extension: where `from` and `to` were asked for; `range` is then `custom`"),
    to: z.string().optional(),
    events: z.array(z.object({ name: z.string(), count: z.number(), properties })),
  }),
);

/** `GET /sites/:id/events`: custom events (statistics contract, "GET /api/v1/sites/:id/events"). */
export function getEventsRoute({ pool, reads, now }: { pool: pg.Pool; reads: ReadShares; now(): Date }) {
  return route({
    method: "get",
    path: "/sites/:id/events",
    operationId: "getEvents",
    summary: "Read a site's custom events with their properties",
    description: `The most frequent event comes first. Property values are the keys of an object, their counts its values. The answer holds the ${eventBounds.names} most frequent events, of each property the ${eventBounds.valuesPerProperty} most frequent values, and at most 1 MiB in all; \`${otherValue}\` counts the rest.\n\nBeyond the contract, \`from\` and \`to\` may stand for \`range\`. ${foldedNote}`,
    params: { id: "The site's id" },
    query: z.object(rangeParameters).superRefine(checkRange),
    lenientQuery: ["range"],
    answers: {
      200: {
        description: "The site's custom events in the range",
        schema: eventsSchema,
        example: { range: "7d", events: [{ name: "signup", count: 12, properties: { plan: { pro: 8, free: 4 } } }] },
        headers: limitHeaders,
      },
      400: invalidQuery,
      ...commonAnswers,
      404: siteNotFound,
    },
    async handle({ params, query, response }) {
      const siteId = params["id"] ?? "";
      const { accountId } = principalOf(response);
      await requireSite(pool, accountId, siteId);
      const { asked, ...days } = resolveRange(query, now());
      const rows = await readInTime(
        asked,
        reads.read(
          accountId,
          () => readEvents(pool, { siteId, ...days }),
          () => response.destroyed,
        ),
      );
      return { status: 200, body: { ...asked, events: present(rows) } };
    },
  });
}

/** One pass over rows that come event by event, each event's total first. */
function present(rows: readonly EventRow[]): z.output<typeof eventsSchema>["events"] {
  const events: { name: string; count: number; properties: Map<string, [string, number][]> }[] = [];
  for (const { name, property, value, count } of rows) {
    if (property === "") {
      events.push({ name, count, properties: new Map() });
      continue;
    }
    const properties = events.at(-1)?.properties;
    const counts = properties?.get(property);
    if (counts) counts.push([value, count]);
    else properties?.set(property, [[value, count]]);
  }
  // From entries, since an assignment per name would lose a property called `__proto__`.
  return events.map(({ name, count, properties }) => ({
    name,
    count,
    properties: Object.fromEntries([...properties].map(([property, counts]) => [property, Object.fromEntries(counts)])),
  }));
}
