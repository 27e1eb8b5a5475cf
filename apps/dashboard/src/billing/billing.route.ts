import { changePlan, findPlan, readPlanUsage } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { planIds, planOf } from "@waymark/plan";
import { z } from "zod";
import { createAnswerCache } from "../answer-cache.js";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, ownerRoute, viewerRoute } from "../session/viewer.js";
import { type BillingRow, keepCustomer, readBilling, readOnFree } from "./billing.query.js";
import { atStripe, type Payments } from "./payments.js";

export type Usage = AnswerOf<typeof billingRoutes, "get /usage">;
export type Billing = AnswerOf<typeof billingRoutes, "get /billing">;
export type InvoiceList = AnswerOf<typeof billingRoutes, "get /billing/invoices">;

/** The answer of `POST /billing/checkout` and `POST /billing/portal`: an address of Stripe. */
export interface PaymentPage {
  url: string;
}

export function billingRoutes(deps: AppDeps) {
  const { pool, payments, now } = deps;
  // The subscription is only a part of the key: with it the invoices change.
  const readInvoices =
    payments &&
    createAnswerCache(now, async (customerId: string, _subscriptionId: string | null) => {
      return { invoices: await atStripe(() => payments.listInvoices(customerId)) };
    });
  return [
    viewerRoute("get", "/usage", { handle: ({ viewer }) => readPlanUsage(pool, viewer.accountId, now()) }),
    changePlanRoute(deps),
    viewerRoute("get", "/billing", {
      async handle({ viewer: { accountId } }) {
        const [account, onFree] = await Promise.all([readBilling(pool, accountId), readOnFree(pool, accountId, now())]);
        if (!account) throw new AppError("not_signed_in");
        return {
          plan: account.plan,
          /** How the plan changes: by payments through Stripe, or by who runs this installation. */
          paidBy: payments ? ("stripe" as const) : ("operator" as const),
          /** The portal opens once the account has been at Checkout. */
          hasPortal: payments !== undefined && account.customerId !== null,
          hasSubscription: payments !== undefined && account.subscriptionId !== null,
          onFree,
        };
      },
    }),
    ownerRoute("get", "/billing/invoices", {
      async handle({ viewer }) {
        const account = await readBilling(pool, viewer.accountId);
        if (!readInvoices || !account?.customerId) throw new AppError("not_found");
        return readInvoices(account.customerId, account.subscriptionId);
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
function changePlanRoute({ pool }: AppDeps) {
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

function stripeRoute({ pool, payments }: AppDeps, { name, open }: Page) {
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
function startCheckoutRoute(deps: AppDeps) {
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
