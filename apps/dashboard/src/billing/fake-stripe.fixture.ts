import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll } from "@jest/globals";
import { openPayments, type Payments } from "./payments.js";

interface Received {
  path: string;
  idempotencyKey: string | undefined;
  form: Readonly<Record<string, string>>;
}

/** A server that speaks Stripe's API, as far as the dashboard asks. */
export interface FakeStripe {
  /** For `DashboardOptions.deps`: payments through Stripe's own library to this server. */
  readonly deps: { readonly payments: Payments | undefined };
  readonly received: Received[];
  /** The status of each subscription, and its price where it is not the configured one. */
  readonly subscriptions: Map<string, { status: string; customer: string; price?: string }>;
  /** Those of each customer, latest first. */
  readonly invoices: Map<string, object[]>;
  /** Ends the open Checkout sessions of a customer, as a payment does. */
  completeCheckout(customer: string): void;
  /** While true, every request is a 500. */
  isBroken: boolean;
  /** The customer of an account that has been at Checkout. */
  customerOf(accountId: string): string;
}

interface Session {
  customer: string;
  status: string;
}

const webhookSecret = "whsec_of_a_test";
const priceId = "price_pro";

/** Starts before the dashboard of the same file, so call it first. */
export function useFakeStripe(): FakeStripe {
  const received: Received[] = [];
  const answers = new Map<string, object>();
  const subscriptions: FakeStripe["subscriptions"] = new Map();
  const invoices: FakeStripe["invoices"] = new Map();
  const sessions: Session[] = [];
  let payments: Payments | undefined;
  let server: Server;
  const fake: FakeStripe = {
    deps: {
      get payments() {
        return payments;
      },
    },
    received,
    subscriptions,
    invoices,
    completeCheckout(customer) {
      for (const session of sessions) if (session.customer === customer) session.status = "complete";
    },
    isBroken: false,
    customerOf(accountId) {
      const made = received.find(({ form }) => form["metadata[account_id]"] === accountId);
      return (answers.get(made?.idempotencyKey ?? "") as { id: string }).id;
    },
  };

  const answer = async (request: IncomingMessage): Promise<{ status: number; body: object }> => {
    const { pathname: path, searchParams } = new URL(request.url ?? "", "http://stripe");
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    const idempotencyKey = String(request.headers["idempotency-key"] ?? "");
    received.push({ path, idempotencyKey, form });
    if (fake.isBroken) return { status: 500, body: { error: { type: "api_error", message: "down" } } };
    if (request.method === "GET")
      return list({ subscriptions, sessions, invoices }, path, searchParams.get("customer") ?? "");
    // The same key brings the first answer again, as Stripe does.
    const known = answers.get(idempotencyKey);
    if (known) return { status: 200, body: known };
    const body = make(path, form);
    if (path === "/v1/checkout/sessions") sessions.unshift(body as Session);
    if (!body) return { status: 404, body: { error: { type: "invalid_request_error", message: "no such path" } } };
    answers.set(idempotencyKey, body);
    return { status: 200, body };
  };

  beforeAll(async () => {
    server = createServer((request, response) => {
      void answer(request).then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json", "stripe-should-retry": "false" });
        response.end(JSON.stringify(body));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const stripe = { secretKey: "sk_test_key", webhookSecret, priceIds: [priceId, "price_of_before"], baseUrl };
    payments = await openPayments({ url: new URL("http://localhost:4000"), stripe });
  });
  afterAll(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  });
  return fake;
}

interface Lists extends Pick<FakeStripe, "subscriptions" | "invoices"> {
  sessions: readonly Session[];
}

function list({ subscriptions, sessions, invoices }: Lists, path: string, customer: string) {
  const isOwn = (each: { customer: string }) => each.customer === customer;
  const lists: Readonly<Record<string, () => object[]>> = {
    "/v1/subscriptions": () => [...subscriptions].map(presentSubscription).filter(isOwn),
    "/v1/checkout/sessions": () => sessions.filter(isOwn).slice(0, 1),
    "/v1/invoices": () => invoices.get(customer) ?? [],
  };
  return { status: 200, body: { object: "list", data: lists[path]?.() ?? [], has_more: false } };
}

function presentSubscription([id, { price = priceId, ...each }]: [string, { customer: string; price?: string }]) {
  return { id, ...each, items: { object: "list", data: [{ price: { id: price } }] } };
}

function make(path: string, form: Readonly<Record<string, string>>): object | undefined {
  const id = randomUUID().replaceAll("-", "");
  if (path === "/v1/customers") return { id: `cus_${id}`, object: "customer", email: form["email"] };
  // No page of Stripe: the browser comes straight back, as if it had paid.
  const url = form["success_url"]?.replace(/^https?:\/\/[^/]+/, "");
  if (path === "/v1/checkout/sessions")
    return { id: `cs_${id}`, object: "checkout.session", url, status: "open", customer: form["customer"] };
  if (path !== "/v1/billing_portal/sessions") return undefined;
  return { id: `bps_${id}`, object: "billing_portal.session", url: `/dashboard/team?customer=${form["customer"]}` };
}

/** An event's text, as Stripe sends it. */
export function eventText(type: string, object: object, id = `evt_${randomUUID()}`): string {
  return JSON.stringify({ id, object: "event", api_version: "2026-01-01", type, data: { object } }, null, 2);
}

/** The header `Stripe-Signature` of a text. */
export function signatureOf(body: string, { at = new Date(), secret = webhookSecret } = {}): string {
  const seconds = Math.floor(at.getTime() / 1000);
  return `t=${seconds},v1=${createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex")}`;
}
