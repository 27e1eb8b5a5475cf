import { grantRoles, type MigrateOptions, migrate, type RolePasswords } from "@waymark/database";

/**
 * Brings a database to this version: our tables, those of the queue, and the services' roles if they have passwords.
 * @param url of the owner of the tables
 * @param options of the migrations
 * @returns the names of the migrations applied
 */
export async function prepareDatabase(
  url: string,
  passwords: RolePasswords | undefined,
  options: Pick<MigrateOptions, "refusesQuietHour" | "say"> = {},
): Promise<string[]> {
  const applied = await migrate(url, options);
  // Imported here, because BullMQ takes longer to load than other commands take to run.
  const { migrateQueues } = await import("@waymark/service/queue");
  await migrateQueues(url);
  if (passwords) await grantRoles(url, passwords);
  return applied;
}
