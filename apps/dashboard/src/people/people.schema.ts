import type { AuditAction, Role } from "@waymark/accounts/identity";
import { emailField } from "@waymark/service/fields";
import { z } from "zod";
import { nameField } from "../session/session.schema.js";

const roleField = () => z.enum(["owner", "member"]);

/** Somebody in the account. `PATCH` and `DELETE /people/:person_id` are an owner's; anybody may delete themselves: leave. */
export interface ListedPerson {
  id: string;
  name: string;
  email: string;
  role: Role;
  joinedAt: string;
  /** The latest use of the dashboard for this account; null without a session. */
  seenAt: string | null;
  /** Live keys that they made. */
  keys: number;
  isYou: boolean;
}

/** An invitation that waits. An owner takes it back by `DELETE /invitations/:invitation_id`. */
export interface Invitation {
  id: string;
  email: string;
  role: Role;
  invitedAt: string;
  expiresAt: string;
}

/** The query of `DELETE /people/:person_id`: whether the keys that they made end, the default, or go on. */
export const removePersonQuery = z.object({ keys: z.enum(["keep", "revoke"]).default("revoke") });

/** The answer of `GET /people`: people by name; members see no invitations. */
export interface PeopleList {
  people: ListedPerson[];
  /** Live keys made by people who left. */
  leftKeys: number;
  invitations: Invitation[];
}

/** The body of `POST /people` (owners): mails an invitation for 7 days. 201 with the {@link Invitation}; 409 for a member. */
export const invitePersonBody = z.strictObject({ email: emailField(), role: roleField() });
export type InvitePersonBody = z.input<typeof invitePersonBody>;

/** The body of `PATCH /people/:person_id` (owners). 409 for the last owner. */
export const changePersonBody = z.strictObject({ role: roleField() });
export type ChangePersonBody = z.input<typeof changePersonBody>;

/** The body of `PATCH /account` (owners): the account's name. */
export const changeAccountBody = z.strictObject({ name: nameField() });

/** Something done to the account. */
export interface AuditLine {
  id: string;
  at: string;
  action: AuditAction;
  /** The thing's name, such as a key's name or a domain. */
  subject: string;
  /** Null where a command or Stripe did it, or the person is gone. */
  person: string | null;
}

/** The query of `GET /audit`: `before` is the last id of the page before. */
export const auditQuery = z.object({ before: z.uuid().optional() });

/** The answer of `GET /audit`: 50 entries, latest first. */
export interface AuditList {
  entries: AuditLine[];
  hasMore: boolean;
}
