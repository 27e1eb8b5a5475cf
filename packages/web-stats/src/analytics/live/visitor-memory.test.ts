import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useAnalytics } from "../analytics.fixture.js";
import { VisitorMemory } from "../recording/record-events.js";
import { createPartitions } from "../recording/record-events.query.js";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { readVisitFigures, recountVisitFigures } from "../recording/recount-visits.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import type { SiteEvent } from "../recording/site-event.js";
import { view } from "../recording/view.fixture.js";
import { createEventWriter } from "./recorder.js";

const analytics = useAnalytics();
const openWriter = () => createEventWriter({ pool: analytics.pool, partitions: createPartitions(analytics.pool) });

/** A view of one visitor, some minutes after noon. */
function viewAt(siteId: string, minute: number): SiteEvent {
  const at = `2026-05-01T12:${String(minute).padStart(2, "0")}:00`;
  return { ...view, siteId, id: createUuidV7(() => Date.parse(`${at}Z`))(), at: `${at}.000000Z`, path: `/${minute}` };
}

async function expectRecount(siteId: string) {
  expect(await readRollups(analytics.pool, siteId)).toEqual(await recountRollups(analytics.pool, siteId));
  expect(await readVisitFigures(analytics.pool, siteId)).toEqual(await recountVisitFigures(analytics.pool, siteId));
}

describe("a writer that remembers a visitor", () => {
  it("does not look its rows up again while nobody else writes", async () => {
    const { id } = await makeSite(analytics.pool);
    const writer = openWriter();
    await writer.write([viewAt(id, 1)]);
    await analytics.pool.query("UPDATE visit SET views = 7 WHERE site_id = $1", [id]);
    await writer.write([viewAt(id, 2)]);
    const { rows } = await analytics.pool.query("SELECT views FROM visit WHERE site_id = $1", [id]);
    expect(rows).toEqual([{ views: 2 }]);
  });

  it("counts each page of it once, whatever it saw again and in which batch", async () => {
    const { id } = await makeSite(analytics.pool);
    const writer = openWriter();
    const pages = ["/a", "/b", "/b", "/a", "/c", "/c", "/b"];
    for (const [minute, path] of pages.entries()) await writer.write([{ ...viewAt(id, minute), path }]);
    await expectRecount(id);
  });

  it("reads them after another writer has recorded an event of the day", async () => {
    const { id } = await makeSite(analytics.pool);
    const [one, other] = [openWriter(), openWriter()];
    for (const [minute, writer] of [one, other, one, one, other, one].entries())
      await writer.write([viewAt(id, minute)]);
    await expectRecount(id);
  });

  it("remembers fewer visitors where they have many rows", () => {
    const memory = new VisitorMemory();
    const day = memory.open("day", { events: 0, mends: 0 });
    const seen = Array.from({ length: 100_000 }, (_, n) => String(n));
    const counted = { seen, entry: { at: "2026-05-01T12:00:00.000000Z", id: "", path: "/" } };
    for (let n = 0; n < 12; n++) day.keep({ events: n, mends: 0 }, [[`${n}`, { counted, visits: [] }]]);
    expect(Array.from({ length: 12 }, (_, n) => day.recall(`${n}`) !== undefined).filter(Boolean)).toHaveLength(9);
    expect(day.recall("11")).toBeDefined();
  });

  it("reads them after a rebuild has mended the day", async () => {
    const { id } = await makeSite(analytics.pool);
    await openWriter().write([viewAt(id, 1)]);
    await analytics.pool.query("UPDATE visit SET views = 7 WHERE site_id = $1", [id]);
    const writer = openWriter();
    await writer.write([viewAt(id, 2)]);
    await analytics.rebuild(id, true);
    await writer.write([viewAt(id, 3)]);
    await expectRecount(id);
  });
});
