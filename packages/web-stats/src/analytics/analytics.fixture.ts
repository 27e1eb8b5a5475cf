import { expect } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { exportEvents } from "./import/export-events.query.js";
import { importEvents } from "./import/import-events.js";
import { createRecorder, type Recorder } from "./live/recorder.js";
import { type RebuildResult, rebuildRollups } from "./maintenance/rebuild-rollups.js";
import type { Difference } from "./maintenance/rebuild-rollups.query.js";

export const browsers = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
];

export async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** A test file's database, and all ways of events in and out. */
export interface TestAnalytics {
  readonly pool: pg.Pool;
  /** Past a pooler, for imports and rebuilds, as on the command line. */
  readonly directPool: pg.Pool;
  readonly databaseUrl: string;
  /** Imports lines; a rejected line fails the test. */
  load(site: { id: string; domain: string }, lines: readonly object[]): Promise<void>;
  /** Compares all of a site's days with a recount, and mends them where asked to. */
  rebuild(siteId: string, replace?: boolean): Promise<RebuildResult & { found: Difference[] }>;
  /** A site's events as `waymark export` writes them. */
  exportText(siteId: string): Promise<string>;
  openRecorder(now: () => number): Recorder;
}

export function useAnalytics(): TestAnalytics {
  const database = useDatabase();
  return {
    get pool() {
      return database.pool;
    },
    get directPool() {
      return database.directPool;
    },
    get databaseUrl() {
      return database.url;
    },
    async load(site, lines) {
      const input = bytesOf(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const onReject = (rejection: object) => {
        throw new Error(JSON.stringify(rejection));
      };
      await importEvents({ pool: database.directPool, site, input, onReject });
    },
    async rebuild(siteId, replace = false) {
      const found: Difference[] = [];
      const onDifference = (difference: Difference) => void found.push(difference);
      const options = { pool: database.directPool, siteId, from: null, to: null, replace, onDifference };
      const result = await rebuildRollups(options);
      expect(result.differences).toBe(found.length);
      return { ...result, found };
    },
    async exportText(siteId) {
      const parts: Buffer[] = [];
      for await (const { text } of exportEvents(database.pool, siteId)) parts.push(text);
      return Buffer.concat(parts).toString();
    },
    openRecorder: (now) => createRecorder({ pool: database.pool, now }),
  };
}
