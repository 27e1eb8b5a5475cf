import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import { laterForms, parseLaterTime } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
A muted failure makes no mail and no other message. It is counted here, and listed with 'waymark failures' as before. A second
mute of a failure replaces the first one's time.

Examples:
  $ waymark mute create --account me@example.com --group 5b7c1b0e-6b5f-8d43-9a51-0d7f4a1f3c55 --until 12h`;

export function declareCommand(command: TopCommand): void {
  const mute = command.group();
  mute("create", "silence the alerts of a failure, for good or until a time", createHelp)
    .required("--account <account>", "the account's id or address")
    .required("--group <failure-id>", "the failure's id, from 'waymark failures'")
    .option("--until <time>", laterForms, { parse: parseLaterTime })
    .query(
      ({ pool, accountId, now }, { group, until }) =>
        createMute(pool, accountId, { failureId: group, until: until?.(now), now }),
      formatFields,
    );
  mute("list", "list an account's mutes with the alerts that stayed silent, oldest first")
    .required("--account <account>", "the account's id or address")
    .query(
      ({ pool, accountId }) => listMutes(pool, accountId),
      listing(["id", "agent_id", "span_name", "error", "until", "state", "muted"], "The account has no mutes."),
    );
  mute("delete", "end a mute: further failures are told again")
    .argument("<failure-id>", "the failure's id, from 'waymark mute list'")
    .option("--account <account>", "only if it is a mute of this account")
    .query(({ pool, accountId }, failureId) => deleteMute(pool, { failureId, accountId }), formatFields);
}
