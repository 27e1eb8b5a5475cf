import { hash, randomBytes } from "node:crypto";
import type { Queryable } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { Secret, TOTP } from "otpauth";

export const wrongCode = () => validationError({ code: "Is wrong, or was used" });

const secretBytes = 20;
const digits = 6;
const recoveryCodes = 10;
const recoveryBytes = 10;

/** Replaces an offer, never a confirmed secret. A probe of `totp_pkey`. */
const offerSql = `
  INSERT INTO totp (person_id, secret) VALUES ($1, $2)
  ON CONFLICT (person_id) DO UPDATE SET secret = EXCLUDED.secret WHERE totp.confirmed_at IS NULL`;

/** @returns the new secret for the person's app, not asked for before {@link confirmCodes}; undefined where codes are on */
export async function offerCodes(client: Queryable, { personId, email }: { personId: string; email: string }) {
  const secret = new Secret({ buffer: new Uint8Array(randomBytes(secretBytes)).buffer });
  const { rowCount } = await client.query(offerSql, [personId, Buffer.from(secret.bytes)]);
  if (rowCount !== 1) return undefined;
  return { secret: secret.base32, url: new TOTP({ issuer: "Waymark", label: email, secret }).toString() };
}

/** Of two at once one confirms, and a secret offered meanwhile stays an offer. A probe of `totp_pkey`. */
const confirmSql = `
  UPDATE totp SET confirmed_at = $2, last_step = $3, recovery = $4
  WHERE person_id = $1 AND confirmed_at IS NULL AND secret = $5`;

/** @returns the recovery codes, stored as hashes alone; undefined for a wrong code */
export async function confirmCodes(client: Queryable, { personId, code, now }: GivenCode) {
  const offered = await readSecret(client, personId);
  const step = offered && stepOf(offered, code, now);
  if (!offered || step === undefined) return undefined;
  const codes = Array.from({ length: recoveryCodes }, () => base32Of(randomBytes(recoveryBytes)));
  const hashes = codes.map((each) => hashOf(personId, each));
  const { rowCount } = await client.query(confirmSql, [personId, now, step, hashes, offered]);
  return rowCount === 1 ? codes.map((each) => each.replace(/(.{4})(?!$)/g, "$1-")) : undefined;
}

interface GivenCode {
  personId: string;
  code: string;
  now: Date;
}

/** A code works once, and none before it does: of two at once the second finds `last_step` raised. */
const takeStepSql = `
  UPDATE totp SET last_step = $2 WHERE person_id = $1 AND confirmed_at IS NOT NULL AND last_step < $2`;

/** A recovery code works once: of two at once the second finds it gone. A probe of `totp_pkey`. */
const takeRecoverySql = `
  UPDATE totp SET recovery = array_remove(recovery, $2)
  WHERE person_id = $1 AND confirmed_at IS NOT NULL AND $2 = ANY (recovery)`;

/** Uses up a code of the person's app, or a recovery code. False for a wrong or used one. */
export async function takeCode(client: Queryable, { personId, code, now }: GivenCode): Promise<boolean> {
  const typed = code.replace(/[\s-]/g, "").toUpperCase();
  if (!/^\d+$/.test(typed)) {
    return (await client.query(takeRecoverySql, [personId, hashOf(personId, typed)])).rowCount === 1;
  }
  const secret = await readSecret(client, personId);
  const step = secret && stepOf(secret, typed, now);
  return step !== undefined && (await client.query(takeStepSql, [personId, step])).rowCount === 1;
}

export async function hasCodes(client: Queryable, personId: string): Promise<boolean> {
  const sql = "SELECT FROM totp WHERE person_id = $1 AND confirmed_at IS NOT NULL";
  return (await client.query(sql, [personId])).rowCount === 1;
}

export async function dropCodes(client: Queryable, personId: string): Promise<void> {
  await client.query("DELETE FROM totp WHERE person_id = $1", [personId]);
}

async function readSecret(client: Queryable, personId: string): Promise<Buffer | undefined> {
  const { rows } = await client.query<{ secret: Buffer }>("SELECT secret FROM totp WHERE person_id = $1", [personId]);
  return rows[0]?.secret;
}

/** The step of 30 seconds that a code belongs to, of the present one and those beside it. */
function stepOf(secret: Buffer, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const given = { token: code.replace(/\s/g, ""), secret: new Secret({ buffer: new Uint8Array(secret).buffer }) };
  const delta = TOTP.validate({ ...given, digits, timestamp, window: 1 });
  return delta === null ? undefined : TOTP.counter({ timestamp }) + delta;
}

const base32Of = (bytes: Buffer) => new Secret({ buffer: new Uint8Array(bytes).buffer }).base32;

const hashOf = (personId: string, code: string) => hash("sha256", `${personId}:${code}`, "buffer");
