import {
  changePassword,
  createSessionCookie,
  endSession,
  endSessionsOf,
  listSessions,
  passwordProblem,
  readViewer,
  renamePerson,
  startSession,
  switchAccount,
} from "@waymark/accounts/identity";
import { addressOf } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type { AppDeps } from "../app-deps.js";
import { idOf } from "../path-id.js";
import { requireOwnPassword } from "./own-password.js";
import { changeMeBody, changePasswordBody, switchAccountBody } from "./session.schema.js";
import { type AnswerOf, viewerOf, viewerRoute } from "./viewer.js";

export type Me = AnswerOf<typeof meRoutes, "get /me">;
export type SessionList = AnswerOf<typeof sessionRoutes, "get /me/sessions">;

export function meRoutes(deps: AppDeps) {
  const { pool, config, sessions } = deps;
  return [
    viewerRoute("get", "/me", {
      async handle({ viewer: { role, isOperator, ...viewer } }) {
        const found = await readViewer(pool, viewer);
        if (!found) throw new AppError("not_signed_in");
        const { traceApiUrl, analyticsApiUrl } = config;
        const collectorUrl = addressOf(config.collectorUrl, found.account.slot);
        return { ...found, role, isOperator, traceApiUrl, analyticsApiUrl, collectorUrl };
      },
    }),
    viewerRoute("patch", "/me", {
      scope: "viewer",
      body: changeMeBody,
      handle: ({ viewer, body }) => renamePerson(pool, viewer.personId, body.name),
    }),
    changePasswordRoute(deps),
    viewerRoute("post", "/me/account", {
      scope: "viewer",
      body: switchAccountBody,
      async handle({ viewer, body: { accountId } }) {
        if (!(await switchAccount(pool, { ...viewer, accountId }))) throw new AppError("not_found");
        sessions.forget(viewer.accountId);
      },
    }),
    ...sessionRoutes(deps),
  ] as const;
}

function sessionRoutes({ pool, sessions, now }: AppDeps) {
  return [
    viewerRoute("get", "/me/sessions", {
      async handle({ viewer: { personId, sessionId } }) {
        const rows = await listSessions(pool, personId, now());
        const sessions = rows.map(({ client, ...row }) => {
          return { ...row, client: describeClient(client ?? ""), isCurrent: row.id === sessionId };
        });
        return { sessions };
      },
    }),
    viewerRoute("delete", "/me/sessions", {
      scope: "viewer",
      async handle({ viewer: { personId, sessionId, accountId } }) {
        await endSessionsOf(pool, personId, sessionId);
        sessions.forget(accountId);
      },
    }),
    viewerRoute("delete", "/me/sessions/:session_id", {
      scope: "viewer",
      async handle({ viewer: { personId, accountId }, params }) {
        const sessionId = idOf(params["session_id"]);
        if (!(await endSession(pool, { sessionId, personId }))) throw new AppError("not_found");
        sessions.forget(accountId);
      },
    }),
  ];
}

/** Every session ends, and this browser gets a new one. */
function changePasswordRoute(deps: AppDeps) {
  const { pool, config, passwords, sessions, now } = deps;
  const cookie = createSessionCookie(config.url);
  return pageRoute({
    method: "post",
    path: "/me/password",
    scope: "viewer",
    body: changePasswordBody,
    async handle({ body, request, response }) {
      const { personId, accountId } = viewerOf(response);
      const problem = passwordProblem(body.password);
      if (problem) throw validationError({ password: problem });
      const network = await requireOwnPassword(deps, request, { personId, given: body.current, field: "current" });
      const hash = await passwords.hash(body.password, network);
      const userAgent = request.get("user-agent");
      const token = await withTransaction(pool, async (client) => {
        await changePassword(client, personId, hash);
        return startSession(client, { personId, accountId, userAgent, now: now() });
      });
      sessions.forget(accountId);
      return { status: 200, headers: { "Set-Cookie": cookie.write(token) }, body: {} };
    },
  });
}

/** By first match: most browsers also name the engines that they descend from. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/Edg(?:A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"],
  [/curl\//, "curl"],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

const nameIn = (table: typeof browsers, text: string) => table.find(([pattern]) => pattern.test(text))?.[1];

/** A `User-Agent` in words, such as "Firefox on Linux". */
export function describeClient(userAgent: string): string {
  const browser = nameIn(browsers, userAgent) ?? "Another program";
  const system = nameIn(systems, userAgent);
  return system ? `${browser} on ${system}` : browser;
}
