import { z } from "zod";

/** The answers of a write with nothing to tell. */
export const done = { 200: { description: "Done", schema: z.object({}) } };
