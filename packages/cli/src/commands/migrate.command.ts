import { migrate } from "@waymark/database";
import type { Command } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { findDatabase } from "../find-database.js";

/** `waymark migrate`. */
export function addMigrateCommand(program: Command, act: Act): void {
  program
    .command("migrate")
    .description("bring the database's tables to this version; safe to run again, and by several at once")
    .addHelpText("after", "\nExample:\n  $ DATABASE_URL=postgres://user:password@host/waymark waymark migrate")
    .action(
      act(async (context) => {
        const { url } = await findDatabase(context.env);
        const applied = await onDatabase(context, () => migrate(url));
        const text = applied.length === 0 ? "Nothing to migrate." : `Applied ${applied.join(", ")}.`;
        return { value: { applied }, text };
      }),
    );
}
