import { createChannelLink } from "@waymark/accounts/identity/links";
import {
  alertStatuses,
  type ChannelInput,
  type ChannelKind,
  channelKinds,
  confirmChannel,
  createChannel,
  deleteChannel,
  listChannels,
  listDeliveries,
  resendChannelLink,
  testChannel,
} from "@waymark/alerts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { onAccount } from "../arguments/resolve-owner.js";
import { collect, wholeNumber } from "../arguments/values.js";
import { type Act, onDatabase } from "../context/command-context.js";
import { formatFields, formatTable } from "../output/terminal-text.js";

type Status = (typeof alertStatuses)[number];

const createHelp = `
Every failed trace goes to each channel of the account; --agent and --status limit one, --recovered adds an agent's next success. The
account's own address is a channel from the start. An address of mail outside the account gets a link first, and alerts once it is
used or 'channel confirm' vouches for it. A webhook is signed by Standard Webhooks; its secret is shown once.

Examples:
  $ waymark channel create --account me@example.com --kind webhook --to https://example.com/hooks/waymark
  $ waymark channel create --account me@example.com --kind slack --to https://hooks.slack.com/services/T0/B0/x --agent billing-agent`;

interface CreateOptions {
  account: string;
  kind: ChannelKind;
  to: string;
  agent?: string[];
  status?: Status[];
  recovered?: true;
}

function collectStatus(text: string, statuses: Status[] = []): Status[] {
  const status = alertStatuses.find((known) => known === text);
  if (status === undefined) throw new InvalidArgumentError(`It must be ${alertStatuses.join(" or ")}.`);
  return [...statuses, status];
}

/** `waymark channel create|list|test|confirm|deliveries|delete`. */
export function addChannelCommands(program: Command, act: Act): void {
  const channel = program.command("channel").description("say where an account's alerts go");
  addCreateCommand(channel, act);
  addReadCommands(channel, act);

  channel
    .command("test")
    .description("have the worker send an event 'test' to a channel; 'channel deliveries' shows the result")
    .argument("<channel-id>", "the channel's id, from 'waymark channel list'")
    .action(
      act(async (context, channelId: string) => {
        const value = await onDatabase(context, ({ pool }) => testChannel(pool, { channelId }));
        return { value, text: `The worker sends a test; 'waymark channel deliveries ${channelId}' shows the result.` };
      }),
    );

  channel
    .command("confirm")
    .description("vouch for the address of a waiting channel: alerts go there without its link")
    .argument("<channel-id>", "the channel's id, from 'waymark channel list'")
    .option("--resend", "mail the link again instead")
    .action(
      act(async (context, channelId: string, { resend }: { resend?: true }) => {
        const value = await onDatabase(context, ({ pool }) =>
          resend ? resendChannelLink(pool, { channelId }, createChannelLink) : confirmChannel(pool, { channelId }),
        );
        return { value, text: formatFields({ ...value }) };
      }),
    );

  channel
    .command("delete")
    .description("delete a channel with what it has not sent yet")
    .argument("<channel-id>", "the channel's id, from 'waymark channel list'")
    .action(
      act(async (context, channelId: string) => {
        const value = await onDatabase(context, ({ pool }) => deleteChannel(pool, { channelId }));
        return { value, text: formatFields({ ...value }) };
      }),
    );
}

function addCreateCommand(channel: Command, act: Act): void {
  channel
    .command("create")
    .description("send an account's alerts to one more address")
    .requiredOption("--account <account>", "the account's id or address")
    .addOption(new Option("--kind <kind>", "the kind of address").choices(channelKinds).makeOptionMandatory())
    .requiredOption("--to <address>", "an email address, or a URL")
    .option("--agent <agent>", "only traces of this agent; repeat it for several", collect)
    .option("--status <status>", "only error or timeout", collectStatus)
    .option("--recovered", "also tell an agent's next success after failures")
    .addHelpText("after", createHelp)
    .action(
      act(async (context, { account, agent, status, ...rest }: CreateOptions) => {
        const input: ChannelInput = { ...rest, agents: agent, statuses: status };
        const value = await onAccount(context, account, (pool, id) =>
          createChannel(pool, id, input, createChannelLink),
        );
        return { value, text: formatFields({ ...value }) };
      }),
    );
}

function addReadCommands(channel: Command, act: Act): void {
  channel
    .command("list")
    .description("list an account's channels, its own address first")
    .requiredOption("--account <account>", "the account's id or address")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onAccount(context, account, (pool, id) => listChannels(pool, id));
        const rows = value.map((row) => ({ ...row, agents: row.agents.join(", "), statuses: row.statuses.join(", ") }));
        const limits = ["agents", "statuses", "recovered"] as const;
        const columns = ["id", "kind", "to", ...limits, "state", "pending", "failed", "skipped", "last_error"] as const;
        return { value, text: rows.length > 0 ? formatTable(columns, rows) : "The account has no channels." };
      }),
    );

  channel
    .command("deliveries")
    .description("list what went to a channel, or did not, newest first")
    .argument("<channel-id>", "the channel's id, from 'waymark channel list'")
    .option("--failed", "only those that failed for good")
    .addOption(new Option("--limit <n>", "at most so many, 1 to 10000").default(100).argParser(wholeNumber(1, 10_000)))
    .action(
      act(async (context, channelId: string, { failed = false, limit }: { failed?: boolean; limit: number }) => {
        const value = await onDatabase(context, ({ pool }) => listDeliveries(pool, { channelId, failed, limit }));
        const columns = ["id", "type", "state", "failures", "attempts", "created_at", "last_error"] as const;
        return { value, text: value.length > 0 ? formatTable(columns, value) : "There are no such deliveries." };
      }),
    );
}
