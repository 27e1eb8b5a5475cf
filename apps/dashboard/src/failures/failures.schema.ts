import type { listMutes } from "@waymark/alerts";
import type { presentFailurePage } from "@waymark/traces";
import { z } from "zod";

/** The answer of `GET /failures`: the trace API's members. */
export type FailureList = ReturnType<typeof presentFailurePage>;
export type ListedFailure = FailureList["failures"][number];

/** The answer of `GET /mutes`, oldest first. */
export interface MuteList {
  mutes: Awaited<ReturnType<typeof listMutes>>;
}

export const muteBody = z.strictObject({
  /** Null for good. */
  until: z.iso.datetime("Must be a time").nullable(),
});

export type MuteBody = z.output<typeof muteBody>;
