import { countKeysByMaker } from "@waymark/accounts";
import { listInvitations, listPeople } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import { viewerOf } from "../session/viewer.js";
import type { PeopleList } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function listPeopleRoute({ pool, now }: PeopleDeps) {
  return pageRoute({
    method: "get",
    path: "/people",
    async handle({ response }) {
      const { accountId, personId, role } = viewerOf(response);
      const [people, keys] = await Promise.all([listPeople(pool, accountId), countKeysByMaker(pool, accountId)]);
      const present = new Set(people.map(({ id }) => id));
      const left = [...keys].filter(([makerId]) => !present.has(makerId));
      const invitations = role === "owner" ? await listInvitations(pool, accountId, now()) : [];
      const body: PeopleList = {
        people: people.map(({ joinedAt, seenAt, ...person }) => ({
          ...person,
          joinedAt: joinedAt.toISOString(),
          seenAt: seenAt?.toISOString() ?? null,
          keys: keys.get(person.id) ?? 0,
          isYou: person.id === personId,
        })),
        leftKeys: left.reduce((sum, [, count]) => sum + count, 0),
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
