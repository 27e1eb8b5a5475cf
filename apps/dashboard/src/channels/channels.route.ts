import { isIP } from "node:net";
import { findPlan } from "@waymark/accounts";
import { createChannelLink } from "@waymark/accounts/identity/links";
import {
  alertModes,
  alertStatuses,
  changeAlertSettings,
  channelKinds,
  costPeriods,
  createChannel,
  createRule,
  deleteChannel,
  deleteRule,
  kindChoices,
  listChannels,
  listRules,
  readAlertSettings,
  readOwnReport,
  reportPeriods,
  resendChannelLink,
  setOwnReport,
  testChannel,
} from "@waymark/alerts";
import { withTransaction } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { planOf } from "@waymark/plan";
import { isPublicAddress, type Networks } from "@waymark/service/fields";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, ownerRoute, type Viewer, viewerRoute } from "../session/viewer.js";

export type ChannelList = AnswerOf<typeof channelRoutes, "get /channels">;
export type ListedChannel = ChannelList["channels"][number];
export type CreatedChannel = AnswerOf<typeof channelRoutes, "post /channels">;
export type RuleList = AnswerOf<typeof ruleRoutes, "get /alert-rules">;

/** The package checks the address and the agents. */
const createChannelBody = z.strictObject({
  kind: z.enum(channelKinds),
  to: z.string(),
  agents: z.array(z.string()).default([]),
  statuses: z.array(z.enum(alertStatuses)).default([]),
  recovered: z.boolean().default(false),
});

export type CreateChannelBody = z.input<typeof createChannelBody>;

/** The package checks the bounds. */
const createRuleBody = z.strictObject({
  agentId: z.string().nullable(),
  userId: z.string().nullish(),
  environment: z.string().nullish(),
  abovePercent: z.number().optional(),
  ofTraces: z.number().optional(),
  withinSeconds: z.number().optional(),
  costPer: z.enum([...costPeriods, "trace"]).optional(),
  aboveCost: z.string().optional(),
  p95AboveMs: z.number().optional(),
  tokensAbove: z.number().optional(),
});

export type CreateRuleBody = z.output<typeof createRuleBody>;

export function channelRoutes({ pool, config, now }: AppDeps) {
  return [
    viewerRoute("get", "/channels", {
      async handle({ viewer }) {
        const { accountId } = viewer;
        const settings = await readAlertSettings(pool, accountId);
        const { plan } = await findPlan(pool, accountId);
        const channels = await listChannels(pool, accountId);
        const report = await readOwnReport(pool, viewer);
        return { channels, kinds: kindChoices, ...settings, report, hasAlerts: planOf(plan).alerts };
      },
    }),
    /** Failures from now on go there, too. Only this answer has a webhook's `secret`. */
    ownerRoute("post", "/channels", {
      body: createChannelBody,
      status: 201,
      async handle({ viewer: { accountId }, body }) {
        if (isPrivate(body.to, config.webhookNetworks)) {
          throw validationError({ to: "Must be a public address: this one is inside a private network" });
        }
        return createChannel(pool, accountId, body, createChannelLink);
      },
    }),
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
    ownerRoute("delete", "/channels/:channel_id", {
      async handle(input) {
        await deleteChannel(pool, channelOf(input));
      },
    }),
    /** The reports that come to the viewer's own address. */
    viewerRoute("put", "/report", {
      body: z.strictObject({ every: z.enum(reportPeriods).nullable() }),
      async handle({ viewer, body }) {
        await setOwnReport(pool, { ...viewer, ...body, now: now() });
      },
    }),
    ownerRoute("put", "/alert-settings", {
      body: z.strictObject({ mode: z.enum(alertModes), windowSeconds: z.int().optional() }),
      async handle({ viewer: { accountId }, body }) {
        await withTransaction(pool, (client) => changeAlertSettings(client, accountId, body));
      },
    }),
  ];
}

export function ruleRoutes({ pool }: AppDeps) {
  return [
    viewerRoute("get", "/alert-rules", {
      handle: async ({ viewer }) => ({ rules: await listRules(pool, viewer.accountId) }),
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
