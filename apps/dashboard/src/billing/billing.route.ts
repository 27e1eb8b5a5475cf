import { changePlan, findPlan, readPlanUsage } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { type PlanId, planIds, planOf } from "@waymark/plan";
import type { presentUsage } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { createAnswerCache } from "../answer-cache.js";
import { ownerRoute, viewerRoute } from "../session/viewer.js";
import { type BillingRow, keepCustomer, type OnFree, readBilling, readOnFree } from "./billing.query.js";
import { atStripe, type Invoice, type Payments } from "./payments.js";

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

/** The answer of `POST /billing/checkout` and `POST /billing/portal`. */
export interface PaymentPage {
  /** An address of Stripe. */
  url: string;
}

/** The answer of `GET /billing/invoices`. */
export interface InvoiceList {
  invoices: Invoice[];
}

interface Deps {
  pool: pg.Pool;
  payments: Payments | undefined;
  now(): Date;
}

/** The plan, its use and its payment. */
export function billingRoutes(deps: Deps) {
  const { pool, payments, now } = deps;
  const cachedInvoices = createAnswerCache<InvoiceList>(now);
  return [
    /** As the trace API answers it. */
    viewerRoute("get", "/usage", {
      handle: ({ viewer }): Promise<Usage> => readPlanUsage(pool, viewer.accountId, now()),
    }),
    changePlanRoute(deps),
    viewerRoute("get", "/billing", {
      async handle({ viewer: { accountId } }): Promise<Billing> {
        const [account, onFree] = await Promise.all([readBilling(pool, accountId), readOnFree(pool, accountId, now())]);
        if (!account) throw new AppError("not_signed_in");
        return {
          plan: account.plan,
          paidBy: payments ? "stripe" : "operator",
          hasPortal: payments !== undefined && account.customerId !== null,
          hasSubscription: payments !== undefined && account.subscriptionId !== null,
          onFree,
        };
      },
    }),
    /** The latest, as Stripe has them. */
    ownerRoute("get", "/billing/invoices", {
      async handle({ viewer }) {
        const { customerId, subscriptionId } = (await readBilling(pool, viewer.accountId)) ?? {};
        if (!payments || !customerId) throw new AppError("not_found");
        const read = async () => ({ invoices: await atStripe(() => payments.listInvoices(customerId)) });
        return cachedInvoices(`${customerId} ${subscriptionId}`, read);
      },
    }),
    startCheckoutRoute(deps),
    stripeRoute(deps, {
      name: "portal",
      open: async (payments, { customerId }) => (customerId === null ? undefined : payments.openPortal(customerId)),
    }),
  ];
}

/** For people of `OPERATORS`: sets the plan of the account they are in. */
function changePlanRoute({ pool }: Deps) {
  return viewerRoute("put", "/plan", {
    body: z.object({ plan: z.enum(planIds) }),
    async handle({ viewer: { accountId, personId, isOperator }, body: { plan } }) {
      if (!isOperator) throw new AppError("operator_only");
      await withTransaction(pool, async (client) => {
        const { plan: before } = await findPlan(client, accountId);
        if (before === plan) return;
        await changePlan(client, accountId, plan);
        await recordAudit(client, { accountId, personId, action: "plan_changed", subject: planOf(plan).name });
      });
      return { plan };
    },
  });
}

interface Page {
  name: "checkout" | "portal";
  /** @returns the page's address; undefined where the account has no such page */
  open(payments: Payments, account: BillingRow): Promise<string | undefined>;
}

/** A route that leads an owner to a page of Stripe. */
function stripeRoute({ pool, payments }: Deps, { name, open }: Page) {
  return ownerRoute("post", `/billing/${name}`, {
    body: z.object({}),
    async handle({ viewer }): Promise<PaymentPage> {
      const account = await readBilling(pool, viewer.accountId);
      const url = payments && account && (await atStripe(() => open(payments, account)));
      if (url === undefined) throw new AppError("not_found");
      return { url };
    },
  });
}

/**
 * An account that pays already gets its portal: a second subscription would be paid twice. Stripe knows of a payment before its
 * webhook comes.
 */
function startCheckoutRoute(deps: Deps) {
  return stripeRoute(deps, {
    name: "checkout",
    async open(payments, { id: accountId, email, customerId: known }) {
      if (known !== null && (await payments.readLive(known)).length > 0) return payments.openPortal(known);
      const created = known ?? (await payments.createCustomer({ accountId, email }));
      const customerId = known ?? (await keepCustomer(deps.pool, accountId, created));
      return payments.startCheckout({ accountId, customerId });
    },
  });
}
