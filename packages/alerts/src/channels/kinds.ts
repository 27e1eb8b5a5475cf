import { discord } from "./discord/discord.js";
import type { Kind } from "./kind.js";
import { mail } from "./mail/mail.js";
import { slack } from "./slack/slack.js";
import { teams } from "./teams/teams.js";
import { webhook } from "./webhook/webhook.js";

const table = { mail, webhook, slack, discord, teams } satisfies Record<string, Kind>;

export type ChannelKind = keyof typeof table;

/** The kinds of channels. The routes, the command line, the pages, and the worker follow it. */
export const kinds: Readonly<Record<ChannelKind, Kind>> = table;

export const channelKinds = Object.keys(table) as [ChannelKind, ...ChannelKind[]];

export const kindsWithEach = channelKinds.filter((kind) => kinds[kind].getsEach === true);

export const kindChoices = channelKinds.map((kind) => {
  const { label, hint, placeholder } = kinds[kind];
  return { kind, label, hint, placeholder };
});

/** A stored kind; undefined for one of a newer release. */
export function findKind(name: string): Kind | undefined {
  return Object.hasOwn(table, name) ? kinds[name as ChannelKind] : undefined;
}

/** An address to show: its origin and last characters, unless its kind says that it holds no secret. */
export function maskAddress(name: string, address: string): string {
  const kind = findKind(name);
  if (kind?.isPublic === true) return address;
  return kind !== undefined && URL.canParse(address) ? `${new URL(address).origin}/…${address.slice(-4)}` : "…";
}
