import { createApiKey, type KeyService } from "@waymark/auth";
import { createUuidV7, isUuid } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import { AccountError } from "./account-error.js";
import { findAccount } from "./accounts.js";
import { readName } from "./name.js";

/** A new key. Only this answer has `key`: the database stores its hash. */
export interface IssuedKey {
  id: string;
  service: KeyService;
  name: string;
  key: string;
}

export interface ListedKey {
  id: string;
  service: string;
  name: string;
  hint: string;
  created_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
}

/** A key of the account; an operator names no account. */
export interface KeyReference {
  keyId: string;
  accountId?: string;
}

const uuid = createUuidV7();

/** Makes a key and stores its SHA-256. @throws AccountError `unknown_account`, `invalid_name` */
export async function issueKey(
  prisma: PrismaClient,
  input: { accountId: string; service: KeyService; name: string },
): Promise<IssuedKey> {
  const { service } = input;
  const name = readName(input.name, "key");
  const { id: accountId } = await findAccount(prisma, input.accountId);
  const { key, hash, hint } = createApiKey(service);
  const id = uuid();
  await prisma.apiKey.create({ data: { id, accountId, service, name, hash: new Uint8Array(hash), hint } });
  return { id, service, name, key };
}

/** The account's keys with the revoked ones, oldest first. @throws AccountError `unknown_account` */
export async function listKeys(prisma: PrismaClient, accountId: string): Promise<ListedKey[]> {
  const { id } = await findAccount(prisma, accountId);
  const keys = await prisma.apiKey.findMany({ where: { accountId: id }, orderBy: { id: "asc" } });
  return keys.map(present);
}

/** @throws AccountError `unknown_key` (also for another account's key), `invalid_name` */
export async function renameKey(
  prisma: PrismaClient,
  { name: newName, ...reference }: KeyReference & { name: string },
): Promise<ListedKey> {
  const name = readName(newName, "key");
  const { id } = await findKey(prisma, reference);
  return present(await prisma.apiKey.update({ where: { id }, data: { name } }));
}

/**
 * Revokes a key for good; running services refuse it within a second. A second call returns the time of the first.
 * @throws AccountError `unknown_key` (also for another account's key)
 */
export async function revokeKey(
  prisma: PrismaClient,
  reference: KeyReference,
): Promise<{ id: string; revoked_at: string }> {
  const { id, revokedAt: before } = await findKey(prisma, reference);
  const revokedAt = before ?? new Date();
  if (!before) await prisma.apiKey.update({ where: { id }, data: { revokedAt } });
  return { id, revoked_at: revokedAt.toISOString() };
}

interface StoredKey {
  id: string;
  service: string;
  name: string;
  hint: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

async function findKey(prisma: PrismaClient, { keyId, accountId }: KeyReference): Promise<StoredKey> {
  const where = { id: keyId, ...(accountId !== undefined && { accountId }) };
  const key = isUuid(keyId) ? await prisma.apiKey.findUnique({ where }) : null;
  if (!key) throw new AccountError("unknown_key", `There is no key '${keyId}'.`);
  return key;
}

function present(key: StoredKey): ListedKey {
  return {
    id: key.id,
    service: key.service,
    name: key.name,
    hint: key.hint,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}
