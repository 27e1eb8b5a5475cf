import { isIP } from "node:net";
import { findPlan } from "@waymark/accounts";
import { createChannelLink } from "@waymark/accounts/identity/links";
import {
  alertModes,
  alertStatuses,
  changeAlertSettings,
  channelKinds,
  createChannel,
  createRule,
  deleteChannel,
  deleteRule,
  kindChoices,
  type ListedRule,
  listChannels,
  listRules,
  readAlertSettings,
  resendChannelLink,
  testChannel,
} from "@waymark/alerts";
import { withTransaction } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { planOf } from "@waymark/plan";
import { isPublicAddress, type Networks } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import { ownerRoute, type Viewer, viewerRoute } from "../session/viewer.js";

export type ListedChannel = Awaited<ReturnType<typeof listChannels>>[number];

/** The answer of `GET /channels`: the account's own address first. */
export interface ChannelList {
  channels: ListedChannel[];
  /** What may be added. */
  kinds: typeof kindChoices;
  /** How messages for people go. */
  mode: (typeof alertModes)[number];
  windowSeconds: number;
  /** Whether the plan sends alerts. */
  hasAlerts: boolean;
}

/** The package checks the address and the agents. */
const createChannelBody = z.strictObject({
  kind: z.enum(channelKinds),
  to: z.string(),
  agents: z.array(z.string()).default([]),
  statuses: z.array(z.enum(alertStatuses)).default([]),
  recovered: z.boolean().default(false),
});

export type CreateChannelBody = z.input<typeof createChannelBody>;

/** The answer of `POST /channels`; a webhook's `secret` is shown this once. */
export interface CreatedChannel {
  id: string;
  kind: (typeof channelKinds)[number];
  to: string;
  secret?: string;
  /** A stranger's address of mail: a link is on its way, and nothing else before it is used. */
  state?: "waiting";
}

/** The answer of `GET /alert-rules`. */
export interface RuleList {
  rules: ListedRule[];
}

/** The package checks the bounds. */
const createRuleBody = z.strictObject({
  agentId: z.string(),
  abovePercent: z.number(),
  ofTraces: z.number(),
  withinSeconds: z.number(),
});

export type CreateRuleBody = z.output<typeof createRuleBody>;

interface Deps {
  pool: pg.Pool;
  config: Pick<Config, "webhookNetworks">;
}

/** Where failures are told, and how. */
export function channelRoutes({ pool, config }: Deps) {
  return [
    viewerRoute("get", "/channels", {
      async handle({ viewer: { accountId } }): Promise<ChannelList> {
        const settings = await readAlertSettings(pool, accountId);
        const { plan } = await findPlan(pool, accountId);
        const channels = await listChannels(pool, accountId);
        return { channels, kinds: kindChoices, ...settings, hasAlerts: planOf(plan).alerts };
      },
    }),
    /** Failures from now on go there, too. */
    ownerRoute("post", "/channels", {
      body: createChannelBody,
      status: 201,
      async handle({ viewer: { accountId }, body }): Promise<CreatedChannel> {
        if (isPrivate(body.to, config.webhookNetworks)) {
          throw validationError({ to: "Must be a public address: this one is inside a private network" });
        }
        return createChannel(pool, accountId, body, createChannelLink);
      },
    }),
    /** The worker sends a test. */
    ownerRoute("post", "/channels/:channel_id/test", {
      async handle(input) {
        await testChannel(pool, channelOf(input));
      },
    }),
    /** Mails the link that confirms a stranger's address again. */
    ownerRoute("post", "/channels/:channel_id/link", {
      async handle(input) {
        await resendChannelLink(pool, channelOf(input), createChannelLink);
      },
    }),
    /** Also of the account's own address. */
    ownerRoute("delete", "/channels/:channel_id", {
      async handle(input) {
        await deleteChannel(pool, channelOf(input));
      },
    }),
    /** Each failure by itself, or digests. */
    ownerRoute("put", "/alert-settings", {
      body: z.strictObject({ mode: z.enum(alertModes), windowSeconds: z.int().optional() }),
      async handle({ viewer: { accountId }, body }) {
        await withTransaction(pool, (client) => changeAlertSettings(client, accountId, body));
      },
    }),
  ];
}

/** Rules about agents' failure rates, oldest first. */
export function ruleRoutes({ pool }: Deps) {
  return [
    viewerRoute("get", "/alert-rules", {
      handle: async ({ viewer }): Promise<RuleList> => ({ rules: await listRules(pool, viewer.accountId) }),
    }),
    ownerRoute("post", "/alert-rules", {
      body: createRuleBody,
      status: 201,
      async handle({ viewer, body }) {
        const { id } = await createRule(pool, viewer.accountId, body);
        return { id };
      },
    }),
    ownerRoute("delete", "/alert-rules/:rule_id", {
      async handle({ viewer: { accountId }, params: { rule_id: ruleId = "" } }) {
        await deleteRule(pool, { ruleId, accountId });
      },
    }),
  ];
}

function channelOf({ viewer, params }: { viewer: Viewer; params: Readonly<Record<string, string>> }) {
  return { accountId: viewer.accountId, channelId: params["channel_id"] ?? "" };
}

/** Only what the address itself says: the worker looks names up at each delivery. */
function isPrivate(address: string, allowed: Networks): boolean {
  if (!URL.canParse(address.trim())) return false;
  const host = new URL(address.trim()).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(host) > 0) return !isPublicAddress(host) && !allowed.has(host);
  return allowed.isEmpty && /(?:^|\.)(?:localhost|local|internal)$/.test(host);
}
