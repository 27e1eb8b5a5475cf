import { type AlertWithTrace, alertStates } from "@waymark/alerts";
import { z } from "zod";

type Times = "createdAt" | "sentAt" | "failedAt" | "dueAt" | "heldUntil";

/** A failure mail with its trace. */
export interface ListedAlert extends Omit<AlertWithTrace, Times> {
  createdAt: string;
  sentAt: string | null;
  failedAt: string | null;
  /** When the next attempt may begin. */
  dueAt: string;
  heldUntil: string | null;
}

/** The answer of `GET /alerts`, newest first. */
export interface AlertList {
  alerts: ListedAlert[];
  /** `before` of the next page; null on the last one. */
  next: string | null;
  /** Whether the plan sends mails. */
  hasMails: boolean;
}

/** The answer of `GET /alerts/unsent`: mails that failed, and pending ones that are late. */
export interface UnsentAlerts {
  count: number;
}

/** The query of `GET /alerts`. */
export const alertsQuery = z.object({
  state: z.enum(alertStates).optional(),
  before: z.uuid().optional(),
});
