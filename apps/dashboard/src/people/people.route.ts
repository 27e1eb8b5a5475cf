import { countKeysByMaker, revokeKeysOf } from "@waymark/accounts";
import {
  changeRole,
  createLink,
  dropInvitation,
  findPersonByEmail,
  isAccountSince,
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
  roles,
} from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError, tooMany } from "@waymark/errors";
import { emailField } from "@waymark/service/fields";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { idOf } from "../path-id.js";
import { nameField } from "../session/session.schema.js";
import { type AnswerOf, ownerRoute, requireOwner, viewerRoute } from "../session/viewer.js";

const roleField = () => z.enum(roles);

export type PeopleList = AnswerOf<typeof peopleRoutes, "get /people">;
export type ListedPerson = PeopleList["people"][number];
export type Invitation = AnswerOf<typeof peopleRoutes, "post /people">;
export type AuditList = AnswerOf<typeof peopleRoutes, "get /audit">;
export type AuditLine = AuditList["entries"][number];

/** The body of `POST /people` (owners): mails an invitation for 7 days. 201 with the {@link Invitation}; 409 for a member. */
const invitePersonBody = z.strictObject({ email: emailField(), role: roleField() });
export type InvitePersonBody = z.input<typeof invitePersonBody>;

const changePersonBody = z.strictObject({ role: roleField() });
export type ChangePersonBody = z.input<typeof changePersonBody>;

/** Everybody sees who is here and may leave; all else is an owner's. */
export function peopleRoutes(deps: AppDeps) {
  const { pool, sessions } = deps;
  return [
    listPeopleRoute(deps),
    invitePersonRoute(deps),
    ownerRoute("patch", "/people/:person_id", {
      body: changePersonBody,
      async handle({ viewer: { accountId, personId: actorId }, params, body: { role } }) {
        await changeRole(pool, { accountId, personId: idOf(params["person_id"]), actorId, role });
        sessions.forget(accountId);
      },
    }),
    removePersonRoute(deps),
    ownerRoute("delete", "/invitations/:invitation_id", {
      async handle({ viewer, params }) {
        const isGone = await dropInvitation(pool, viewer.accountId, idOf(params["invitation_id"]));
        if (!isGone) throw new AppError("not_found");
      },
    }),
    ownerRoute("patch", "/account", {
      body: z.strictObject({ name: nameField() }),
      handle: ({ viewer, body }) => renameAccount(pool, viewer.accountId, body.name),
    }),
    viewerRoute("get", "/audit", {
      query: z.object({ before: z.uuid().optional() }),
      handle: ({ viewer: { accountId, role }, query: { before } }) => listAudit(pool, { accountId, role, before }),
    }),
  ];
}

function listPeopleRoute({ pool, now }: AppDeps) {
  return viewerRoute("get", "/people", {
    async handle({ viewer: { accountId, personId, role } }) {
      const [people, keys] = await Promise.all([listPeople(pool, accountId), countKeysByMaker(pool, accountId)]);
      const keysOf = (id: string) => keys.get(id) ?? 0;
      const present = new Set(people.map(({ id }) => id));
      const left = [...keys.keys()].filter((makerId) => !present.has(makerId));
      return {
        people: people.map((person) => ({ ...person, keys: keysOf(person.id), isYou: person.id === personId })),
        leftKeys: left.reduce((sum, makerId) => sum + keysOf(makerId), 0),
        invitations: role === "owner" ? await listInvitations(pool, accountId, now()) : [],
      };
    },
  });
}

/** Waiting ones of an account: each is a mail with an owner's words to somebody who did not ask. */
const maxInvitations = 100;

const dayBefore = (moment: Date) => new Date(moment.getTime() - 24 * 3_600_000);

/** Only the mail has the link: it proves the address. */
function invitePersonRoute({ pool, config, guesses, mails, now }: AppDeps) {
  return ownerRoute("post", "/people", {
    body: invitePersonBody,
    status: 201,
    async handle({ viewer: { accountId, personId }, body: { email, role }, request }) {
      const known = await findPersonByEmail(pool, email);
      if (known && (await isMember(pool, accountId, known.id))) throw new AppError("already_member");
      await guesses.admit(request, "invite");
      const invitedAt = now();
      // Where sign-up is closed, accounts are known.
      const isYoung = config.signUp === "open" && (await isAccountSince(pool, accountId, dayBefore(invitedAt)));
      const { isAllowed, resetSeconds } = await mails.admit("invite", email, { accountId, isYoung });
      if (!isAllowed) throw tooMany(resetSeconds);
      await replaceInvitations(pool, accountId, email);
      if ((await listInvitations(pool, accountId, invitedAt)).length >= maxInvitations) {
        const reason = `At most ${maxInvitations} invitations may wait. Take one back first.`;
        throw new AppError("account_full", { details: { limit: maxInvitations, reason } });
      }
      const link = { purpose: "invite", email, accountId, role, invitedBy: personId, now: invitedAt } as const;
      const { id, token, expiresAt } = await createLink(pool, link);
      await recordAudit(pool, { accountId, personId, action: "person_invited", subject: `${email} (${role})` });
      const viewer = await readViewer(pool, { personId, accountId });
      const [account, inviter] = [viewer?.account.name ?? "", viewer?.person.name ?? ""];
      const url = linkUrl(config.url.href, token);
      mails.later(() => mails.send(email, { purpose: "invite", account, inviter, link: url, expiresAt }));
      return { id, email, role, invitedAt, expiresAt };
    },
  });
}

function removePersonRoute({ pool, sessions }: AppDeps) {
  return viewerRoute("delete", "/people/:person_id", {
    scope: "viewer",
    query: z.object({ keys: z.enum(["keep", "revoke"]).default("revoke") }),
    async handle({ viewer, params, query: { keys } }) {
      const personId = idOf(params["person_id"]);
      const { accountId, personId: actorId } = personId === viewer.personId ? viewer : requireOwner(viewer);
      await withTransaction(pool, async (transaction) => {
        await removePerson(transaction, { accountId, personId, actorId });
        const revoked = keys === "revoke" ? await revokeKeysOf(transaction, { accountId, personId }) : [];
        for (const { name, hint } of revoked) {
          const subject = `${name} (${hint})`;
          await recordAudit(transaction, { accountId, personId: actorId, action: "key_revoked", subject });
        }
      });
      sessions.forget(accountId);
    },
  });
}
