import type { CreateGroupCommit } from "@waymark/database";
import type pg from "pg";

/** What a read of a range of time needs, one that ends now unless the client says otherwise. */
export interface TimedReads {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  now(): Date;
}
