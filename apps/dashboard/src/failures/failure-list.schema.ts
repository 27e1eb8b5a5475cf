import { failureQuerySchema } from "@waymark/traces";
import { z } from "zod";

export const failureListQuery = failureQuerySchema.safeExtend({ state: z.enum(["open", "resolved"]).default("open") });
