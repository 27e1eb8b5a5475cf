import { issueKey, readSharedLinks, revokeKey } from "@waymark/accounts";
import { passwordProblem, recordAudit } from "@waymark/accounts/identity";
import { isUuid, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { textField } from "@waymark/service/fields";
import { findTraceName } from "@waymark/traces";
import { requireSite } from "@waymark/web-stats/statistics";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type LinkList = AnswerOf<typeof linkRoutes, "get /sites/:id/links">;
export type ListedLink = LinkList["links"][number];
export type CreatedLink = AnswerOf<typeof linkRoutes, "post /sites/:id/links">;

const dayMs = 86_400_000;
const longestDays = 366;
const maxOrigins = 10;
const maxNameLength = 200;

/** What a link shows, and its name in the record. @throws AppError 404 for what is not the account's */
type FindSubject = (accountId: string, id: string) => Promise<{ siteId?: string; traceId?: string; name: string }>;

/** A page's origin, as browsers write it; undefined for other text, which would change the policy. */
function originOf(text: string): string | undefined {
  const given = text.trim().replace(/\/$/, "");
  return /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?$/i.test(given) && URL.canParse(given)
    ? new URL(given).origin
    : undefined;
}

const originsField = z
  .array(z.string().max(300))
  .max(maxOrigins, `At most ${maxOrigins} origins`)
  .transform((texts, context) => {
    const origins = texts.flatMap((text) => originOf(text) ?? []);
    if (origins.length === texts.length) return [...new Set(origins)];
    context.addIssue({ code: "custom", message: "Must be origins such as https://example.com" });
    return z.NEVER;
  });

const createLinkBody = z.strictObject({
  /** The last UTC day on which it works. */
  lastDay: z.iso.date("Must be a day such as 2030-01-31"),
  password: textField({ max: 200 }).optional(),
  frameOrigins: originsField.prefault([]),
});

export type CreateLinkBody = z.input<typeof createLinkBody>;

/** The members of a link's row that its maker gives, checked. @throws AppError 400 */
function requireTerms({ lastDay, password, frameOrigins }: z.output<typeof createLinkBody>, now: Date) {
  const expiresAt = new Date(Date.parse(lastDay) + dayMs);
  const days = (expiresAt.getTime() - now.getTime()) / dayMs;
  if (days <= 0) throw validationError({ lastDay: "Must not be over" });
  if (days > longestDays) throw validationError({ lastDay: `Must be within ${longestDays} days` });
  const problem = password === undefined ? undefined : passwordProblem(password);
  if (problem) throw validationError({ password: problem });
  if (password !== undefined && frameOrigins.length > 0) {
    throw validationError({ frameOrigins: "A link with a password cannot be shown in other pages" });
  }
  return { expiresAt, password, frameOrigins };
}

/** Members make links and revoke their own, owners revoke every link. */
export function linkRoutes(deps: AppDeps) {
  const { pool } = deps;
  return [
    ...subjectRoutes(deps, "/sites/:id/links", async (accountId, id) => {
      const { domain } = await requireSite(pool, accountId, id);
      return { siteId: id, name: domain };
    }),
    ...subjectRoutes(deps, "/traces/:id/links", async (accountId, traceId) => {
      const name = isUuid(traceId) ? await findTraceName(pool, accountId, traceId) : undefined;
      if (name === undefined) throw new AppError("trace_not_found");
      return { traceId, name: name.trim().slice(0, maxNameLength).toWellFormed() || "(no name)" };
    }),
    revokeRoute(deps),
  ] as const;
}

function subjectRoutes<Path extends string>(deps: AppDeps, path: Path, find: FindSubject) {
  const { pool, config, passwords, guesses, now } = deps;
  return [
    viewerRoute("get", path, {
      async handle({ viewer: { accountId }, params: { id = "" } }) {
        const { siteId, traceId } = await find(accountId, id);
        return { links: await readSharedLinks(pool, accountId, { subjectId: siteId ?? traceId }) };
      },
    }),
    /** Only this answer has the address. */
    viewerRoute("post", path, {
      body: createLinkBody,
      status: 201,
      async handle({ viewer: { accountId, personId }, params: { id = "" }, body, request }) {
        const { password, ...terms } = requireTerms(body, now());
        const { name, ...subject } = await find(accountId, id);
        const hash = password && (await passwords.hash(password, guesses.networkOf(request)));
        const share = { ...subject, ...terms, password: hash };
        const { id: linkId, key } = await withTransaction(pool, async (transaction) => {
          const service = "link" as const;
          const made = await issueKey(transaction, { accountId, service, name, createdBy: personId, share });
          await recordAudit(transaction, { accountId, personId, action: "link_shared", subject: name });
          return made;
        });
        return { id: linkId, url: new URL(`/dashboard/shared/${key}`, config.url).href, ...terms };
      },
    }),
  ] as const;
}

function revokeRoute({ pool }: AppDeps) {
  return viewerRoute("delete", "/links/:link_id", {
    async handle({ viewer: { accountId, personId, role }, params }) {
      const linkId = params["link_id"] ?? "";
      const [link] = isUuid(linkId) ? await readSharedLinks(pool, accountId, { linkId }) : [];
      if (!link) throw new AppError("not_found");
      if (role !== "owner" && link.createdBy?.id !== personId) throw new AppError("owner_only");
      await withTransaction(pool, async (transaction) => {
        const { name } = await revokeKey(transaction, { keyId: link.id, accountId });
        await recordAudit(transaction, { accountId, personId, action: "link_revoked", subject: name });
      });
    },
  });
}
