import { createApiKey, type KeyService } from "@waymark/auth";
import { createUuidV7, isUuid } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import { textProblem } from "@waymark/fields";
import { AccountError, findAccount } from "./accounts.js";

/** A key right after it was made: the only moment at which `key` is known. */
export interface IssuedKey {
  id: string;
  service: KeyService;
  name: string;
  key: string;
}

/** A key as a list shows it. */
export interface ListedKey {
  id: string;
  service: string;
  name: string;
  hint: string;
  created_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
}

const maxNameLength = 200;
const uuid = createUuidV7();

/**
 * Makes a key for an account and stores its hash.
 * @throws AccountError when there is no such account or the name is empty, longer than 200 characters or not storable
 */
export async function issueKey(
  prisma: PrismaClient,
  input: { accountId: string; service: KeyService; name: string },
): Promise<IssuedKey> {
  const { service, name } = input;
  if (name.trim() === "" || name.length > maxNameLength || textProblem(name)) {
    throw new AccountError(`A key's name has 1 to ${maxNameLength} characters.`);
  }
  const { id: accountId } = await findAccount(prisma, input.accountId);
  const { key, hash, hint } = createApiKey(service);
  const id = uuid();
  await prisma.apiKey.create({ data: { id, accountId, service, name, hash: new Uint8Array(hash), hint } });
  return { id, service, name, key };
}

/** The account's keys, oldest first, revoked ones too. */
export async function listKeys(prisma: PrismaClient, accountId: string): Promise<ListedKey[]> {
  const { id } = await findAccount(prisma, accountId);
  const keys = await prisma.apiKey.findMany({ where: { accountId: id }, orderBy: { id: "asc" } });
  return keys.map((key) => ({
    id: key.id,
    service: key.service,
    name: key.name,
    hint: key.hint,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }));
}

/**
 * Revokes a key for good; every running service refuses it within a second. Revoking it again changes nothing.
 * @returns the key's id and when it was revoked
 * @throws AccountError when there is no such key
 */
export async function revokeKey(prisma: PrismaClient, keyId: string): Promise<{ id: string; revoked_at: string }> {
  const key = isUuid(keyId) ? await prisma.apiKey.findUnique({ where: { id: keyId } }) : null;
  if (!key) throw new AccountError(`There is no key '${keyId}'. 'waymark key list --account ID' shows them.`);
  const revokedAt = key.revokedAt ?? new Date();
  if (!key.revokedAt) await prisma.apiKey.update({ where: { id: keyId }, data: { revokedAt } });
  return { id: keyId, revoked_at: revokedAt.toISOString() };
}
