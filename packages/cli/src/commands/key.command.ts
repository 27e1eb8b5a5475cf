import { issueKey, listKeys, renameKey, revokeKey } from "@waymark/accounts";
import { type KeyService, keyServices } from "@waymark/auth";
import { type Command, Option } from "commander";
import { onAccount } from "../arguments/resolve-owner.js";
import { type Act, onDatabase } from "../context/command-context.js";
import { formatFields, formatTable } from "../output/terminal-text.js";

const columns = [
  ...(["id", "service", "site", "name", "hint"] as const),
  ...(["created_at", "last_used_at", "expires_at", "revoked_at"] as const),
];

/** `waymark key create|list|rename|revoke`. */
export function addKeyCommands(program: Command, act: Act): void {
  const key = program.command("key").description("create API keys, list them, rename them, revoke them");

  key
    .command("create")
    .description("create an API key and show it, this once")
    .requiredOption("--account <account>", "its account, by id or address")
    .addOption(new Option("--service <service>", "the API it opens").choices([...keyServices]).makeOptionMandatory())
    .requiredOption("--name <name>", "a name to recognise it by")
    .addHelpText("after", "\nExample:\n  $ waymark key create --account me@example.com --service trace --name laptop")
    .action(
      act(async (context, options: { account: string; service: KeyService; name: string }) => {
        const { account, service, name } = options;
        const value = await onAccount(context, account, (pool, accountId) =>
          issueKey(pool, { accountId, service, name }),
        );
        const text = `${formatFields({ ...value })}\n\nKeep the key now: only its hash is stored, it cannot be shown again.`;
        return { value, text };
      }),
    );

  key
    .command("list")
    .description("list an account's keys, oldest first, with revoked and ended ones")
    .requiredOption("--account <account>", "the account's id or address")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onAccount(context, account, (pool, id) => listKeys(pool, id));
        const text = formatTable(columns, value);
        return { value, text: value.length > 0 ? text : "The account has no keys. 'waymark key create' makes one." };
      }),
    );
  addChangeCommands(key, act);
}

function addChangeCommands(key: Command, act: Act): void {
  key
    .command("rename")
    .description("give a key another name")
    .argument("<key-id>", "the key's id, from 'waymark key list'")
    .requiredOption("--name <name>", "its new name")
    .addHelpText("after", '\nExample:\n  $ waymark key rename ID --name "build server"')
    .action(
      act(async (context, keyId: string, { name }: { name: string }) => {
        const value = await onDatabase(context, ({ pool }) => renameKey(pool, { keyId, name }));
        return { value, text: formatTable(columns, [value]) };
      }),
    );

  key
    .command("revoke")
    .description("revoke a key for good; running services refuse it within a second")
    .argument("<key-id>", "the key's id, from 'waymark key list'")
    .action(
      act(async (context, keyId: string) => {
        const { id, revoked_at } = await onDatabase(context, ({ pool }) => revokeKey(pool, { keyId }));
        return { value: { id, revoked_at }, text: `The key ${id} is revoked since ${revoked_at}.` };
      }),
    );
}
