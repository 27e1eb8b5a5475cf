import { createDayColumns } from "@waymark/web-stats/statistics";
import type pg from "pg";

/** Of days kept in memory: the days of one answer follow each other. */
const maxBytes = 16_777_216;

export const openColumns = (pool: pg.Pool, siteId: string) => createDayColumns({ pool, maxBytes }).open(siteId);
