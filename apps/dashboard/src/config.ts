import { mailVariables, readMailSettings } from "@waymark/alerts/mail";
import { cellSlotsVariable } from "@waymark/auth";
import {
  ConfigError,
  dashboardUrlVariable,
  httpConfig,
  httpVariables,
  isLoopbackHost,
  portVariable,
  readEnv,
  urlVariable,
} from "@waymark/service";
import { networksVariable } from "@waymark/service/fields";
import { trustedProxiesVariable } from "@waymark/service/limits";
import { z } from "zod";

const webUrl = urlVariable(["http:", "https:"]);

const webUrls = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter(Boolean))
  .pipe(z.array(webUrl.transform((url) => url.replace(/\/+$/, ""))));

/** An issuer, and after a space the claim with people's roles. */
const issuerVariable = z
  .string()
  .transform((text) => text.trim().split(/\s+/))
  .pipe(
    z.union([z.tuple([webUrl]), z.tuple([webUrl, z.string().max(255)])], {
      error: "must be an http or https URL, perhaps with a space and the claim of roles",
    }),
  );

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
    DASHBOARD_URL: dashboardUrlVariable().default("http://localhost:4000"),
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
    OIDC_ISSUER: issuerVariable.optional(),
    OIDC_CLIENT_ID: z.string().optional(),
    OIDC_CLIENT_SECRET: z.string().optional(),
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
    oidc: readOidc(read),
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
  return noneOf("Stripe", read, ["STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET", "STRIPE_PRICE_ID"]);
}

/** For a group of settings that are not all there. @throws ConfigError for some of them */
function noneOf<Name extends string>(group: string, read: Partial<Record<Name, unknown>>, names: readonly Name[]) {
  const missing = names.filter((name) => !read[name]);
  if (missing.length === names.length) return undefined;
  throw new ConfigError(missing.map((name) => `${name} must be set, as the other settings of ${group} are`));
}

type OidcSettings = { [Name in "OIDC_CLIENT_ID" | "OIDC_CLIENT_SECRET"]?: string | undefined } & {
  OIDC_ISSUER?: [string, string?] | undefined;
  CELL_DASHBOARDS: readonly string[];
};

/** @throws ConfigError unless all of the three settings are there, or none */
function readOidc(read: OidcSettings) {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = read;
  if (!issuer || !clientId || !clientSecret) {
    return noneOf("OpenID Connect", read, ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"]);
  }
  const [address, roleClaim] = issuer;
  const url = new URL(address);
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) throw new ConfigError(["OIDC_ISSUER must be https"]);
  if (read.CELL_DASHBOARDS.length > 0) throw new ConfigError(["OIDC_ISSUER does not work beside CELL_DASHBOARDS"]);
  return { issuer: url, roleClaim, clientId, clientSecret };
}

export type Config = ReturnType<typeof loadConfig>;
