import type { KeyService } from "@waymark/auth";
import { z } from "zod";

/** The answer of `GET /keys`, latest first. */
export interface KeyList {
  keys: ListedKey[];
}

export interface ListedKey {
  id: string;
  service: KeyService;
  name: string;
  /** The key's prefix and last letters. */
  hint: string;
  /** Null for a key of the command line, and for one of a removed person. */
  createdBy: { id: string; name: string } | null;
  createdAt: string;
  lastUsedAt: string | null;
  /** Present for a shared key: the only site that it reads, and its end. */
  share?: { siteId: string; domain: string; expiresAt: string | null };
}

export const createKeyBody = z.strictObject({
  name: z.string().trim().min(1, "Give the key a name").max(200, "Must have at most 200 characters"),
  service: z.enum(["trace", "analytics"] satisfies KeyService[]),
});

export type CreateKeyBody = z.output<typeof createKeyBody>;

/** The answer of `POST /keys`: the only one with the key itself. */
export interface CreatedKey {
  id: string;
  service: KeyService;
  name: string;
  key: string;
}
