import { dataFolderOf, readLocalSystem } from "../local-system.js";
import { CommandError } from "./command-error.js";

/** A command's database, and the origin of its URL. */
export interface FoundDatabase {
  readonly url: string;
  readonly from: "environment" | "local";
}

const howToStart = "Start it with 'npx --yes pnpm@10.34.9 start', or set DATABASE_URL to the database that you mean.";

/**
 * The database of `DIRECT_DATABASE_URL` or `DATABASE_URL`, else that of the running local system.
 * @throws CommandError when there is neither
 */
export async function findDatabase(env: NodeJS.ProcessEnv): Promise<FoundDatabase> {
  // Commands take locks for a session and copy tables, and a pooler may do neither.
  const url = env["DIRECT_DATABASE_URL"] || env["DATABASE_URL"];
  if (url) {
    if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
      throw new CommandError(
        "DATABASE_URL and DIRECT_DATABASE_URL must be URLs that start with postgres:// or postgresql://.",
      );
    }
    return { url, from: "environment" };
  }
  const folder = dataFolderOf(env);
  const local = await readLocalSystem(folder);
  if (!local) throw new CommandError(notRunning(folder));
  if (!local.databaseUrl) throw new CommandError("The local system is still starting. Try again in a moment.");
  return { url: local.databaseUrl, from: "local" };
}

/** The sentence for a stopped local system. */
export function notRunning(dataFolder: string): string {
  return `No local system is running in ${dataFolder}. ${howToStart}`;
}
