import type { PlanId } from "@waymark/plan";
import { planIds } from "@waymark/plan";
import type { presentUsage } from "@waymark/traces";
import { z } from "zod";
import type { Invoice } from "./payments.js";

export type { Invoice } from "./payments.js";

/** The answer of `GET /usage`, the trace API's. */
export type Usage = ReturnType<typeof presentUsage>;

/** The answer of `GET /billing`. */
export interface Billing {
  plan: PlanId;
  /** How the plan changes: by payments through Stripe, or by who runs this installation. */
  paidBy: "stripe" | "operator";
  /** Whether the account has been at Checkout, so that its portal opens. */
  hasPortal: boolean;
  /** Whether a subscription pays for the plan. */
  hasSubscription: boolean;
  /** What the Free plan would take away. */
  onFree: OnFree;
}

export interface OnFree {
  /** Stored traces older than Free's retention; at most 10,000. */
  oldTraces: number;
  hasMoreOldTraces: boolean;
  /** Keys of the statistics API that work now. */
  statisticsKeys: number;
}

/** The answer of `POST /billing/checkout` and `POST /billing/portal`. */
export interface PaymentPage {
  /** An address of Stripe. */
  url: string;
}

/** The answer of `GET /billing/invoices`. */
export interface InvoiceList {
  invoices: Invoice[];
}

export const changePlanBody = z.object({ plan: z.enum(planIds) });
