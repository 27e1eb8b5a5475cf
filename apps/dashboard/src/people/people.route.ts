import { AppError } from "@waymark/errors";
import { route } from "@waymark/http";
import {
  changeRole,
  createLink,
  dropInvitation,
  findPersonByEmail,
  isMember,
  linkUrl,
  listAudit,
  listInvitations,
  listPeople,
  readViewer,
  recordAudit,
  removePerson,
  renameAccount,
  replaceInvitations,
} from "@waymark/identity";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import type { AccountMails } from "../session/account-mails.js";
import { type Guesses, tooMany } from "../session/guesses.js";
import { ownerOf, type Sessions, viewerOf } from "../session/viewer.js";
import {
  type AuditList,
  auditQuery,
  changeAccountBody,
  changePersonBody,
  type Invitation,
  invitePersonBody,
  type PeopleList,
} from "./people.schema.js";

export interface PeopleDeps {
  pool: pg.Pool;
  config: Pick<Config, "url">;
  guesses: Guesses;
  mails: AccountMails;
  sessions: Sessions;
  now(): Date;
}

const done = { 200: { description: "Done", schema: z.object({}) } };

/** @throws AppError 404 for text that is no id */
function idOf(text: string | undefined): string {
  const { data } = z.uuid().safeParse(text);
  if (data === undefined) throw new AppError("not_found");
  return data;
}

/** `GET /people` */
export function listPeopleRoute({ pool, now }: PeopleDeps) {
  return route({
    method: "get",
    path: "/people",
    operationId: "listPeople",
    summary: "The people of the account, and for owners the invitations",
    answers: { 200: { description: "People and invitations", schema: z.custom<PeopleList>() } },
    async handle({ response }) {
      const { accountId, personId, role } = viewerOf(response);
      const people = await listPeople(pool, accountId);
      const invitations = role === "owner" ? await listInvitations(pool, accountId, now()) : [];
      const body: PeopleList = {
        people: people.map(({ joinedAt, seenAt, ...person }) => ({
          ...person,
          joinedAt: joinedAt.toISOString(),
          seenAt: seenAt?.toISOString() ?? null,
          isYou: person.id === personId,
        })),
        invitations: invitations.map(({ invitedAt, expiresAt, ...invitation }) => ({
          ...invitation,
          invitedAt: invitedAt.toISOString(),
          expiresAt: expiresAt.toISOString(),
        })),
      };
      return { status: 200, body };
    },
  });
}

/** `POST /people`. Only the mail has the link: it proves the address. */
export function invitePersonRoute({ pool, config, guesses, mails, now }: PeopleDeps) {
  return route({
    method: "post",
    path: "/people",
    operationId: "invitePerson",
    summary: "Invite a person",
    body: invitePersonBody,
    answers: { 201: { description: "The invitation", schema: z.custom<Invitation>() } },
    async handle({ body: { email, role }, request, response }) {
      const { accountId, personId } = ownerOf(response);
      const known = await findPersonByEmail(pool, email);
      if (known && (await isMember(pool, accountId, known.id))) throw new AppError("already_member");
      const { isAllowed, retryAfterSeconds } = await guesses.admit(request, "invite", email);
      if (!isAllowed) throw tooMany(retryAfterSeconds);
      const invitedAt = now();
      await replaceInvitations(pool, accountId, email);
      const link = { purpose: "invite", email, accountId, role, now: invitedAt } as const;
      const { id, token, expiresAt } = await createLink(pool, link);
      await recordAudit(pool, { accountId, personId, action: "person_invited", subject: `${email} (${role})` });
      const viewer = await readViewer(pool, { personId, accountId });
      const [account, inviter] = [viewer?.account.name ?? "", viewer?.person.name ?? ""];
      const url = linkUrl(config.url.href, token);
      mails.later(() => mails.send(email, { purpose: "invite", account, inviter, link: url, expiresAt }));
      const times = { invitedAt: invitedAt.toISOString(), expiresAt: expiresAt.toISOString() };
      return { status: 201, body: { id, email, role, ...times } satisfies Invitation };
    },
  });
}

/** `DELETE /invitations/:invitation_id` */
export function dropInvitationRoute({ pool }: PeopleDeps) {
  return route({
    method: "delete",
    path: "/invitations/:invitation_id",
    operationId: "dropInvitation",
    summary: "Take an invitation back",
    answers: done,
    async handle({ params, response }) {
      const { accountId } = ownerOf(response);
      const isGone = await dropInvitation(pool, accountId, idOf(params["invitation_id"]));
      if (!isGone) throw new AppError("not_found");
      return { status: 200, body: {} };
    },
  });
}

/** `PATCH /people/:person_id` */
export function changePersonRoute({ pool, sessions }: PeopleDeps) {
  return route({
    method: "patch",
    path: "/people/:person_id",
    operationId: "changePerson",
    summary: "Make a person an owner or a member",
    body: changePersonBody,
    answers: done,
    async handle({ params, body: { role }, response }) {
      const { accountId, personId: actorId } = ownerOf(response);
      await changeRole(pool, { accountId, personId: idOf(params["person_id"]), actorId, role });
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}

/** `DELETE /people/:person_id`: an owner removes anybody, a member leaves. */
export function removePersonRoute({ pool, sessions }: PeopleDeps) {
  return route({
    method: "delete",
    path: "/people/:person_id",
    operationId: "removePerson",
    summary: "Remove a person, or leave",
    answers: done,
    async handle({ params, response }) {
      const personId = idOf(params["person_id"]);
      const viewer = viewerOf(response);
      const { accountId, personId: actorId } = personId === viewer.personId ? viewer : ownerOf(response);
      await removePerson(pool, { accountId, personId, actorId });
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}

/** `PATCH /account` */
export function changeAccountRoute({ pool }: PeopleDeps) {
  return route({
    method: "patch",
    path: "/account",
    operationId: "changeAccount",
    summary: "Change the account's name",
    body: changeAccountBody,
    answers: done,
    async handle({ body, response }) {
      await renameAccount(pool, ownerOf(response).accountId, body.name);
      return { status: 200, body: {} };
    },
  });
}

/** `GET /audit` */
export function listAuditRoute({ pool }: PeopleDeps) {
  return route({
    method: "get",
    path: "/audit",
    operationId: "listAudit",
    summary: "What was done to the account",
    query: auditQuery,
    answers: { 200: { description: "50 entries, latest first", schema: z.custom<AuditList>() } },
    async handle({ query: { before }, response }) {
      const { entries, hasMore } = await listAudit(pool, viewerOf(response).accountId, before);
      const body: AuditList = {
        entries: entries.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })),
        hasMore,
      };
      return { status: 200, body };
    },
  });
}
