import { readRolePasswords, rolePasswordVariables } from "@waymark/database";
import type { TopCommand } from "../context/command-builder.js";
import { onDatabase, prepareDatabase } from "../context/command-context.js";
import { findDatabase } from "../local-system.js";

const help = `
Example:
  $ DATABASE_URL=postgres://user:password@host/waymark waymark migrate

With ${Object.values(rolePasswordVariables).join(", ")}
it also makes the services' roles (waymark_trace_api and so on), each with the few rights that its service needs.`;

export function declareCommand(command: TopCommand): void {
  command
    .help(help)
    .option("--yes", "go on where a migration needs a quiet hour; assumed without a terminal")
    .run(async (context, { yes }) => {
      const passwords = readRolePasswords(context.env);
      const { url } = await findDatabase(context.env);
      const asked = {
        refusesQuietHour: !yes && context.stdin.isTTY === true,
        say: (line: string) => context.stderr.write(`${line}\n`),
      };
      const { applied, newer } = await onDatabase(context, () => prepareDatabase(url, passwords, asked));
      if (newer) {
        const text = `This database is newer: it has migration ${newer}. This release may use it; nothing was changed.`;
        return { value: { applied, newer }, text };
      }
      const text = [
        applied.length === 0 ? "Nothing to migrate." : `Applied ${applied.join(", ")}.`,
        ...(passwords ? ["The services' roles have their rights."] : []),
      ].join("\n");
      return { value: { applied }, text };
    });
}
