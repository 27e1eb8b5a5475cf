import { AppError } from "@waymark/errors";
import type { Stripe } from "stripe";
import type { Config } from "../config.js";

export type PaymentEvent = ReturnType<typeof present>;
export type Invoice = ReturnType<typeof presentInvoice>;
export type Payments = ReturnType<typeof createPayments>;

/** Stripe tries a failed payment again for days; the account keeps its plan while `past_due`. */
const liveStatuses: ReadonlySet<string> = new Set(["active", "trialing", "past_due"]);

const signatureToleranceSeconds = 300;
const maxInvoices = 12;
const maxSubscriptions = 100;

/** Within the database's limit for a transaction that waits; Stripe sends an unanswered event again. */
const readTimeoutMs = 4_000;
const timeoutMs = 10_000;

/** Loads Stripe's library: some 16 MB that no installation without Stripe needs. */
export async function openPayments({ url, stripe: settings }: Pick<Config, "url" | "stripe">) {
  if (!settings) return undefined;
  const { default: Library } = await import("stripe");
  const address = addressOf(settings.baseUrl);
  const stripe = new Library(settings.secretKey, { ...address, timeout: timeoutMs, telemetry: false });
  return createPayments(stripe, { ...settings, billingUrl: new URL("/dashboard/billing", url).href });
}

function addressOf(baseUrl: string | undefined) {
  if (baseUrl === undefined) return {};
  const { protocol, hostname, port } = new URL(baseUrl);
  const isHttp = protocol === "http:";
  return { protocol: isHttp ? "http" : "https", host: hostname, port: port || (isHttp ? 80 : 443) } as const;
}

interface Settings {
  webhookSecret: string;
  /** The first is sold; earlier ones go on. */
  priceIds: readonly string[];
  billingUrl: string;
}

/** Payments through Stripe. All but `readEvent` send requests and throw what Stripe's library throws. */
function createPayments(stripe: Stripe, { webhookSecret, priceIds, billingUrl }: Settings) {
  const priceId = priceIds[0] ?? "";
  return {
    async createCustomer({ accountId, email }: { accountId: string; email: string }) {
      const metadata = { account_id: accountId };
      const idempotencyKey = `waymark-customer-${accountId}-${email}`.slice(0, 255);
      return (await stripe.customers.create({ email, metadata }, { idempotencyKey })).id;
    },
    /** @returns the address of a Checkout page, the same for all calls until it is paid or past its day */
    async startCheckout({ accountId, customerId }: { accountId: string; customerId: string }) {
      const { data } = await stripe.checkout.sessions.list({ customer: customerId, limit: 1 });
      const [latest] = data;
      if (latest?.status === "open" && latest.url) return latest.url;
      // Calls at once know the same latest session, so their key brings one new session to all of them.
      const idempotencyKey = `waymark-checkout-${customerId}-${priceId}-${latest?.id ?? "first"}`.slice(0, 255);
      const session = await stripe.checkout.sessions.create(
        {
          mode: "subscription",
          customer: customerId,
          client_reference_id: accountId,
          line_items: [{ price: priceId, quantity: 1 }],
          success_url: `${billingUrl}?paid=1`,
          cancel_url: billingUrl,
          subscription_data: { metadata: { account_id: accountId } },
        },
        { idempotencyKey },
      );
      if (!session.url) throw new Error(`Stripe's Checkout session ${session.id} has no address`);
      return session.url;
    },
    async openPortal(customerId: string) {
      const portal = await stripe.billingPortal.sessions.create({ customer: customerId, return_url: billingUrl });
      return portal.url;
    },
    /** @returns undefined for a wrong or old signature */
    readEvent(body: Buffer, signature: string, now: Date) {
      try {
        const [tolerance, moment] = [signatureToleranceSeconds, now.getTime()];
        return present(stripe.webhooks.constructEvent(body, signature, webhookSecret, tolerance, undefined, moment));
      } catch {
        return undefined;
      }
    },
    /** @returns the ids of the customer's subscriptions that pay a price of Pro now, as Stripe has them */
    async readLive(customer: string) {
      const options = { timeout: readTimeoutMs, maxNetworkRetries: 0 };
      const { data } = await stripe.subscriptions.list({ customer, limit: maxSubscriptions }, options);
      const isOfPrice = ({ items }: Stripe.Subscription) => items.data.some(({ price }) => priceIds.includes(price.id));
      return data.filter((each) => liveStatuses.has(each.status) && isOfPrice(each)).map(({ id }) => id);
    },
    async listInvoices(customer: string) {
      const { data } = await stripe.invoices.list({ customer, limit: maxInvoices });
      return data.filter(({ status }) => status !== "draft").map(presentInvoice);
    },
  };
}

function presentInvoice({ id, number, created, total, currency, status, hosted_invoice_url: url }: Stripe.Invoice) {
  return {
    id,
    number,
    createdAt: new Date(created * 1_000).toISOString(),
    amount: total,
    currency: currency.toUpperCase(),
    state: `${status ?? "unknown"}`,
    url: url?.startsWith("https://") ? url : null,
  };
}

function present({ id, type, data }: Stripe.Event) {
  const object = data.object as { object?: string; id?: string; customer?: unknown; subscription?: unknown };
  const subscription = object.object === "subscription" ? object.id : object.subscription;
  return { id, type, customerId: idOf(object.customer), subscriptionId: idOf(subscription) };
}

/** Stripe gives an id, or the object where the account asks for expanded events. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null ? (value as { id?: unknown }).id : value;
  return isStripeId(id) ? id : undefined;
}

/** Postgres takes no NUL. */
export function isStripeId(id: unknown): id is string {
  return typeof id === "string" && /^[!-~]{1,255}$/.test(id);
}

/** @throws AppError 502 for an error of Stripe's library */
export async function atStripe<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isStripes = error instanceof Error && "rawType" in error;
    if (!isStripes) throw error;
    throw new AppError("payments_away", { cause: error });
  }
}
