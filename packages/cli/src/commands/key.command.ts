import { issueKey, listKeys, revokeKey } from "@waymark/accounts";
import { type KeyService, keyServices } from "@waymark/auth";
import { type Command, Option } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { formatFields, formatTable } from "../table.js";

/** `waymark key create|list|revoke`. */
export function addKeyCommands(program: Command, act: Act): void {
  const key = program.command("key").description("create API keys, list them, revoke them");

  key
    .command("create")
    .description("create an API key; this is the only time that the key is shown")
    .requiredOption("--account <id>", "whose key it is")
    .addOption(
      new Option("--service <service>", "the API that it opens").choices([...keyServices]).makeOptionMandatory(),
    )
    .requiredOption("--name <name>", "a name by which you will know it again")
    .addHelpText("after", "\nExample:\n  $ waymark key create --account ID --service trace --name laptop")
    .action(
      act(async (context, options: { account: string; service: KeyService; name: string }) => {
        const { account: accountId, service, name } = options;
        const value = await onDatabase(context, ({ prisma }) => issueKey(prisma, { accountId, service, name }));
        const text = `${formatFields({ ...value })}\n\nKeep the key now: only its hash is stored, it cannot be shown again.`;
        return { value, text };
      }),
    );

  key
    .command("list")
    .description("list an account's keys, oldest first, revoked ones too")
    .requiredOption("--account <id>", "whose keys")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onDatabase(context, ({ prisma }) => listKeys(prisma, account));
        const text = formatTable(["id", "service", "name", "hint", "created_at", "last_used_at", "revoked_at"], value);
        return { value, text: value.length > 0 ? text : "The account has no keys. 'waymark key create' makes one." };
      }),
    );

  key
    .command("revoke")
    .description("revoke a key for good; running services refuse it within a second")
    .argument("<key-id>", "the key's id, as 'waymark key list' shows it")
    .action(
      act(async (context, keyId: string) => {
        const value = await onDatabase(context, ({ prisma }) => revokeKey(prisma, keyId));
        return { value, text: `The key ${value.id} is revoked since ${value.revoked_at}.` };
      }),
    );
}
