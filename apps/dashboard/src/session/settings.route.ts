import { withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { route } from "@waymark/http";
import {
  createSessionCookie,
  endSession,
  endSessionsOf,
  listSessions,
  type Passwords,
  passwordProblem,
  readPassword,
  renamePerson,
  setPassword,
  startSession,
  switchAccount,
} from "@waymark/identity";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import { describeClient } from "./describe-client.js";
import { type Guesses, tooMany } from "./guesses.js";
import { changeMeBody, changePasswordBody, type SessionList, switchAccountBody } from "./session.schema.js";
import { type Sessions, viewerOf } from "./viewer.js";

export interface SettingsDeps {
  pool: pg.Pool;
  config: Pick<Config, "url">;
  passwords: Passwords;
  guesses: Guesses;
  sessions: Sessions;
  now(): Date;
}

const done = { 200: { description: "Done", schema: z.object({}) } };

/** `PATCH /me` */
export function changeMeRoute({ pool }: SettingsDeps) {
  return route({
    method: "patch",
    path: "/me",
    operationId: "changeMe",
    summary: "Change the own name",
    body: changeMeBody,
    answers: done,
    async handle({ body, response }) {
      await renamePerson(pool, viewerOf(response).personId, body.name);
      return { status: 200, body: {} };
    },
  });
}

/** `POST /me/password`: every session ends, and this browser gets a new one. */
export function changePasswordRoute({ pool, config, passwords, guesses, sessions, now }: SettingsDeps) {
  const cookie = createSessionCookie(config.url);
  return route({
    method: "post",
    path: "/me/password",
    operationId: "changePassword",
    summary: "Change the own password",
    body: changePasswordBody,
    answers: done,
    async handle({ body, request, response }) {
      const { personId, accountId } = viewerOf(response);
      const problem = passwordProblem(body.password);
      if (problem) throw validationError({ password: problem });
      const { isAllowed, retryAfterSeconds, refund } = await guesses.admit(request, "password", personId);
      if (!isAllowed) throw tooMany(retryAfterSeconds);
      const stored = await readPassword(pool, personId);
      if (stored !== undefined && !(await passwords.verify(stored, body.current ?? ""))) {
        throw validationError({ current: body.current === undefined ? "Required" : "Is not your password" });
      }
      await refund();
      const hash = await passwords.hash(body.password);
      const userAgent = request.get("user-agent");
      const token = await withTransaction(pool, async (client) => {
        await setPassword(client, personId, hash);
        await endSessionsOf(client, personId);
        return startSession(client, { personId, accountId, userAgent, now: now() });
      });
      sessions.forget(accountId);
      return { status: 200, headers: { "Set-Cookie": cookie.write(token) }, body: {} };
    },
  });
}

/** `POST /me/account` */
export function switchAccountRoute({ pool, sessions }: SettingsDeps) {
  return route({
    method: "post",
    path: "/me/account",
    operationId: "switchAccount",
    summary: "Go to another account of the person",
    body: switchAccountBody,
    answers: done,
    async handle({ body: { accountId }, response }) {
      const viewer = viewerOf(response);
      if (!(await switchAccount(pool, { ...viewer, accountId }))) throw new AppError("not_found");
      sessions.forget(viewer.accountId);
      return { status: 200, body: {} };
    },
  });
}

/** `GET /me/sessions` */
export function listSessionsRoute({ pool, now }: SettingsDeps) {
  return route({
    method: "get",
    path: "/me/sessions",
    operationId: "listSessions",
    summary: "The own sessions",
    answers: { 200: { description: "Sessions, latest first", schema: z.custom<SessionList>() } },
    async handle({ response }) {
      const { personId, sessionId } = viewerOf(response);
      const rows = await listSessions(pool, personId, now());
      const sessions = rows.map(({ id, client, createdAt, seenAt }) => ({
        id,
        client: describeClient(client ?? ""),
        createdAt: createdAt.toISOString(),
        seenAt: seenAt.toISOString(),
        isCurrent: id === sessionId,
      }));
      return { status: 200, body: { sessions } satisfies SessionList };
    },
  });
}

/** `DELETE /me/sessions`: all but this one. */
export function endOtherSessionsRoute({ pool, sessions }: SettingsDeps) {
  return route({
    method: "delete",
    path: "/me/sessions",
    operationId: "endOtherSessions",
    summary: "End the other own sessions",
    answers: done,
    async handle({ response }) {
      const { personId, sessionId, accountId } = viewerOf(response);
      await endSessionsOf(pool, personId, sessionId);
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}

/** `DELETE /me/sessions/:session_id` */
export function endSessionRoute({ pool, sessions }: SettingsDeps) {
  return route({
    method: "delete",
    path: "/me/sessions/:session_id",
    operationId: "endSession",
    summary: "End an own session",
    answers: done,
    async handle({ params, response }) {
      const { personId, accountId } = viewerOf(response);
      const sessionId = z.uuid().safeParse(params["session_id"]).data;
      if (!sessionId || !(await endSession(pool, { sessionId, personId }))) throw new AppError("not_found");
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
