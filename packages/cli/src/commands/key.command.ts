import { issueKey, listKeys, renameKey, revokeKey } from "@waymark/accounts";
import { keyScopes, keyServices } from "@waymark/auth";
import type { TopCommand } from "../context/command-builder.js";
import { formatFields, formatTable, listing } from "../output/terminal-text.js";

const columns = [
  ...(["id", "service", "scope", "site", "name", "hint"] as const),
  ...(["created_at", "last_used_at", "expires_at", "revoked_at"] as const),
];

const createHelp =
  "\nExample:\n  $ waymark key create --account me@example.com --service trace --scope ingest --name laptop";

export function declareCommand(command: TopCommand): void {
  const key = command.group();
  key("create", "create an API key and show it, this once", createHelp)
    .required("--account <account>", "its account, by id or address")
    .required("--service <service>", "the API it opens", { choices: keyServices })
    .option("--scope <scope>", "what a key of the trace API may do: send, read, or all with deletion", {
      choices: keyScopes,
      default: "all",
    })
    .required("--name <name>", "a name to recognise it by")
    .query(
      ({ pool, accountId }, { service, scope, name }) => issueKey(pool, { accountId, service, scope, name }),
      (value) => `${formatFields(value)}\n\nKeep the key now: only its hash is stored, it cannot be shown again.`,
    );
  key("list", "list an account's keys, oldest first, with revoked and ended ones")
    .required("--account <account>", "the account's id or address")
    .query(
      ({ pool, accountId }) => listKeys(pool, accountId),
      listing(columns, "The account has no keys. 'waymark key create' makes one."),
    );
  key("rename", "give a key another name", '\nExample:\n  $ waymark key rename ID --name "build server"')
    .argument("<key-id>", "the key's id, from 'waymark key list'")
    .required("--name <name>", "its new name")
    .query(
      ({ pool }, keyId, { name }) => renameKey(pool, { keyId, name }),
      (value) => formatTable(columns, [value]),
    );
  key("revoke", "revoke a key for good; running services refuse it within a second")
    .argument("<key-id>", "the key's id, from 'waymark key list'")
    .query(
      async ({ pool }, keyId) => {
        const { id, revoked_at } = await revokeKey(pool, { keyId });
        return { id, revoked_at };
      },
      ({ id, revoked_at }) => `The key ${id} is revoked since ${revoked_at}.`,
    );
}
