import { mailVariables, readMailSettings } from "@waymark/alerts/mail";
import { cellSlotsVariable } from "@waymark/auth";
import { ConfigError, httpConfig, httpVariables, portVariable, readEnv, urlVariable } from "@waymark/service";
import { networksVariable } from "@waymark/service/fields";
import { trustedProxiesVariable } from "@waymark/service/limits";
import { z } from "zod";

const webUrl = urlVariable(["http:", "https:"]);

const webUrls = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter(Boolean))
  .pipe(z.array(webUrl.transform((url) => url.replace(/\/+$/, ""))));

const listOf = (text: string) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...httpVariables,
    DASHBOARD_PORT: portVariable(4000),
    DASHBOARD_METRICS_PORT: portVariable(4001),
    DASHBOARD_URL: webUrl.default("http://localhost:4000"),
    TRACE_API_URL: webUrl.default("http://localhost:4100"),
    ANALYTICS_API_URL: webUrl.default("http://localhost:4200"),
    COLLECTOR_URL: webUrl.default("http://localhost:4300"),
    OPERATORS: z
      .string()
      .default("")
      .transform((text) => listOf(text.toLowerCase())),
    SIGN_UP: z.enum(["open", "invited"], { error: "must be one of: open, invited" }).default("open"),
    CELL_SLOTS: cellSlotsVariable(),
    CELL_DASHBOARDS: webUrls.default([]),
    TRUSTED_PROXIES: trustedProxiesVariable(),
    WEBHOOK_ALLOW_PRIVATE: networksVariable(),
    ...mailVariables(env),
    STRIPE_SECRET_KEY: z.string().optional(),
    STRIPE_WEBHOOK_SECRET: z.string().optional(),
    STRIPE_PRICE_ID: z.string().optional(),
    STRIPE_BASE_URL: webUrl.optional(),
  });
  return {
    ...httpConfig(read, "DASHBOARD", env),
    redisUrl: read.REDIS_URL,
    /** Of its cell: new accounts get one of them. */
    slots: read.CELL_SLOTS,
    /** Of the other cells, asked about who is unknown here. */
    cellDashboards: read.CELL_DASHBOARDS,
    trustedProxies: read.TRUSTED_PROXIES,
    mail: readMailSettings(read),
    url: new URL(read.DASHBOARD_URL),
    traceApiUrl: read.TRACE_API_URL,
    analyticsApiUrl: read.ANALYTICS_API_URL,
    collectorUrl: read.COLLECTOR_URL,
    operators: read.OPERATORS,
    signUp: read.SIGN_UP,
    /** The private networks that the worker posts to. */
    webhookNetworks: read.WEBHOOK_ALLOW_PRIVATE,
    stripe: readStripe(read),
  };
}

type StripeName = "STRIPE_SECRET_KEY" | "STRIPE_WEBHOOK_SECRET" | "STRIPE_PRICE_ID";

/** @throws ConfigError unless all of the three settings are there, or none */
function readStripe(read: { [Name in StripeName | "STRIPE_BASE_URL"]?: string | undefined }) {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_PRICE_ID: prices } = read;
  const priceIds = listOf(prices ?? "");
  if (secretKey && webhookSecret && priceIds.length > 0) {
    return { secretKey, webhookSecret, priceIds, baseUrl: read.STRIPE_BASE_URL };
  }
  const names: StripeName[] = ["STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET", "STRIPE_PRICE_ID"];
  const missing = names.filter((name) => !read[name]);
  if (missing.length === names.length) return undefined;
  throw new ConfigError(missing.map((name) => `${name} must be set, as the other settings of Stripe are`));
}

export type Config = ReturnType<typeof loadConfig>;
