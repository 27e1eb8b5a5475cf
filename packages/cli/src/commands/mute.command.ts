import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import type { Command } from "commander";
import { onAccount } from "../arguments/resolve-owner.js";
import { laterForms, parseLaterTime, type TimeArgument } from "../arguments/values.js";
import type { Act } from "../context/command-context.js";
import { formatFields, formatTable } from "../output/terminal-text.js";

const createHelp = `
A muted failure makes no mail and no other message. It is counted here, and listed with 'waymark failure list' as before. A second
mute of a failure replaces the first one's time.

Examples:
  $ waymark mute create --account me@example.com --group 5b7c1b0e-6b5f-8d43-9a51-0d7f4a1f3c55 --until 12h`;

interface CreateOptions {
  account: string;
  group: string;
  until?: TimeArgument;
}

/** `waymark mute create|list|delete`. */
export function addMuteCommands(program: Command, act: Act): void {
  const mute = program.command("mute").description("silence the alerts of a failure, list what is muted, end it");

  mute
    .command("create")
    .description("silence the alerts of a failure, for good or until a time")
    .requiredOption("--account <account>", "the account's id or address")
    .requiredOption("--group <failure-id>", "the failure's id, from 'waymark failure list'")
    .option("--until <time>", laterForms, parseLaterTime)
    .addHelpText("after", createHelp)
    .action(
      act(async (context, { account, group, until }: CreateOptions) => {
        const now = context.now();
        const value = await onAccount(context, account, (pool, id) =>
          createMute(pool, id, { failureId: group, until: until?.(now), now }),
        );
        return { value, text: formatFields({ ...value }) };
      }),
    );

  mute
    .command("list")
    .description("list an account's mutes with the alerts that stayed silent, oldest first")
    .requiredOption("--account <account>", "the account's id or address")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onAccount(context, account, (pool, id) => listMutes(pool, id));
        const text = formatTable(["id", "agent_id", "span_name", "error", "until", "state", "muted"], value);
        return { value, text: value.length > 0 ? text : "The account has no mutes." };
      }),
    );

  mute
    .command("delete")
    .description("end a mute: further failures are told again")
    .argument("<failure-id>", "the failure's id, from 'waymark mute list'")
    .option("--account <account>", "only if it is a mute of this account")
    .action(
      act(async (context, failureId: string, { account }: { account?: string }) => {
        const value = await onAccount(context, account, (pool, accountId) =>
          deleteMute(pool, { failureId, accountId }),
        );
        return { value, text: formatFields({ ...value }) };
      }),
    );
}
