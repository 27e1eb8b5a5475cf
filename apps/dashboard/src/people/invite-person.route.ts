import {
  createLink,
  findPersonByEmail,
  isAccountSince,
  isMember,
  linkUrl,
  listInvitations,
  readViewer,
  recordAudit,
  replaceInvitations,
} from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { tooMany } from "../session/guesses.js";
import { ownerOf } from "../session/viewer.js";
import { type Invitation, invitePersonBody } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

/** Waiting ones of an account: each is a mail with an owner's words to somebody who did not ask. */
const maxInvitations = 100;

const dayBefore = (moment: Date) => new Date(moment.getTime() - 24 * 3_600_000);

/** `POST /people`. Only the mail has the link: it proves the address. */
export function invitePersonRoute({ pool, config, guesses, mails, now }: PeopleDeps) {
  return pageRoute({
    method: "post",
    path: "/people",
    body: invitePersonBody,
    async handle({ body: { email, role }, request, response }) {
      const { accountId, personId } = ownerOf(response);
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
      const times = { invitedAt: invitedAt.toISOString(), expiresAt: expiresAt.toISOString() };
      return { status: 201, body: { id, email, role, ...times } satisfies Invitation };
    },
  });
}
