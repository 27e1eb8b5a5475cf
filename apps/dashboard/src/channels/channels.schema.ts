import {
  type alertModes,
  alertStatuses,
  channelKinds,
  type kindChoices,
  type ListedRule,
  type listChannels,
} from "@waymark/alerts";
import { z } from "zod";

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
export const createChannelBody = z.strictObject({
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
export const createRuleBody = z.strictObject({
  agentId: z.string(),
  abovePercent: z.number(),
  ofTraces: z.number(),
  withinSeconds: z.number(),
});

export type CreateRuleBody = z.output<typeof createRuleBody>;
