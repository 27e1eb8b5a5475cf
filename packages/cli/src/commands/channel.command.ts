import { createChannelLink } from "@waymark/accounts/identity/links";
import {
  alertStatuses,
  channelKinds,
  confirmChannel,
  createChannel,
  deleteChannel,
  listChannels,
  listDeliveries,
  resendChannelLink,
  testChannel,
} from "@waymark/alerts";
import { InvalidArgumentError } from "commander";
import { collect, wholeNumber } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

type Status = (typeof alertStatuses)[number];

const createHelp = `
Every failed trace goes to each channel of the account; --agent and --status limit one, --recovered adds an agent's next success. The
account's own address is a channel from the start. An address of mail outside the account gets a link first, and alerts once it is
used or 'channel confirm' vouches for it. A webhook is signed by Standard Webhooks; its secret is shown once.

Examples:
  $ waymark channel create --account me@example.com --kind webhook --to https://example.com/hooks/waymark
  $ waymark channel create --account me@example.com --kind slack --to https://hooks.slack.com/services/T0/B0/x --agent billing-agent`;

function collectStatus(text: string, statuses: Status[] = []): Status[] {
  const status = alertStatuses.find((known) => known === text);
  if (status === undefined) throw new InvalidArgumentError(`It must be ${alertStatuses.join(" or ")}.`);
  return [...statuses, status];
}

const list = listing(
  ["id", "kind", "to", "agents", "statuses", "recovered", "state", "pending", "failed", "skipped", "last_error"],
  "The account has no channels.",
);

export function declareCommand(command: TopCommand): void {
  const channel = command.group();
  const ofChannel = (...[name, about]: Parameters<typeof channel>) =>
    channel(name, about).argument("<channel-id>", "the channel's id, from 'waymark channel list'");

  channel("create", "send an account's alerts to one more address", createHelp)
    .required("--account <account>", "the account's id or address")
    .required("--kind <kind>", "the kind of address", { choices: channelKinds })
    .required("--to <address>", "an email address, or a URL")
    .option("--agent <agent>", "only traces of this agent; repeat it for several", { parse: collect })
    .option("--status <status>", "only error or timeout", { parse: collectStatus })
    .option("--recovered", "also tell an agent's next success after failures")
    .query(({ pool, accountId }, { kind, to, recovered, agent: agents, status: statuses }) => {
      return createChannel(pool, accountId, { kind, to, recovered, agents, statuses }, createChannelLink);
    }, formatFields);
  channel("list", "list an account's channels, its own address first")
    .required("--account <account>", "the account's id or address")
    .query(
      ({ pool, accountId }) => listChannels(pool, accountId),
      (rows) => list(rows.map((row) => ({ ...row, agents: row.agents.join(", "), statuses: row.statuses.join(", ") }))),
    );
  ofChannel("deliveries", "list what went to a channel, or did not, newest first")
    .option("--failed", "only those that failed for good")
    .option("--limit <n>", "at most so many, 1 to 10000", { parse: wholeNumber(1, 10_000), default: 100 })
    .query(
      ({ pool }, channelId, { failed = false, limit }) => listDeliveries(pool, { channelId, failed, limit }),
      listing(
        ["id", "type", "state", "failures", "attempts", "created_at", "last_error"],
        "There are no such deliveries.",
      ),
    );
  ofChannel("test", "have the worker send an event 'test' to a channel; 'channel deliveries' shows the result").query(
    ({ pool }, channelId) => testChannel(pool, { channelId }),
    (_, channelId) => `The worker sends a test; 'waymark channel deliveries ${channelId}' shows the result.`,
  );
  ofChannel("confirm", "vouch for the address of a waiting channel: alerts go there without its link")
    .option("--resend", "mail the link again instead")
    .query(
      ({ pool }, channelId, { resend }) =>
        resend ? resendChannelLink(pool, { channelId }, createChannelLink) : confirmChannel(pool, { channelId }),
      formatFields,
    );
  ofChannel("delete", "delete a channel with what it has not sent yet").query(
    ({ pool }, channelId) => deleteChannel(pool, { channelId }),
    formatFields,
  );
}
