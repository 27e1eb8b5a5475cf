import type { Role, SessionCache, Viewer } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute, type Route } from "@waymark/service/http";
import type { RequestHandler, Response } from "express";
import type { z } from "zod";

export type { Viewer } from "@waymark/accounts/identity";

export type Sessions = Pick<SessionCache, "find" | "forget">;

export function requireSession(sessions: Sessions): RequestHandler {
  return async (request, response, next) => {
    const viewer = await sessions.find(request.headers.cookie);
    if (!viewer) throw new AppError("not_signed_in");
    response.locals["caller"] = { accountId: viewer.accountId };
    response.locals["viewer"] = viewer;
    next();
  };
}

/** The viewer of a request. Throws when {@link requireSession} did not run, which is a mistake in the routes. */
export function viewerOf(response: Response): Viewer {
  const viewer: Viewer | undefined = response.locals["viewer"];
  if (!viewer) throw new Error("This route is not behind requireSession()");
  return viewer;
}

/** What a route asks for without a scope: whoever only reads changes nothing. */
const leastRole = (method: Route["method"]): Role => (method === "get" ? "viewer" : "member");

/** The one check of roles, before a body is read. @throws AppError 403 */
export function permitRole({ method, scope = leastRole(method) }: Route, response: Response): void {
  const viewer = viewerOf(response);
  if (scope === "owner") requireOwner(viewer);
  if (scope !== "viewer" && viewer.role === "viewer") throw new AppError("read_only");
}

/** @throws AppError 403 for anybody else */
export function requireOwner(viewer: Viewer): Viewer {
  if (viewer.role !== "owner") throw new AppError("owner_only");
  return viewer;
}

/** What the browser gets of a value: JSON has times as texts. */
type Json<Value> = Value extends Date
  ? string
  : Value extends object
    ? { [Name in keyof Value]: Json<Value[Name]> }
    : Value;

/** A route whose type says what it answers. Only the type checker sees `answered`. */
interface Answering<Id extends string, Answer> extends Route {
  readonly answered: { id: Id; body: Json<Answer> };
}

/**
 * The answer of one of the routes that a function makes, such as `"get /keys"`. A list with other routes among them needs
 * `as const`: it would else be one of `Route`.
 */
export type AnswerOf<Routes extends (deps: never) => readonly Route[], Id extends string> = Extract<
  ReturnType<Routes>[number],
  { answered: { id: Id } }
>["answered"]["body"];

type PageSpec<Query extends z.ZodType, Body extends z.ZodType> = Parameters<typeof pageRoute<Query, Body>>[0];

interface ViewerSpec<Asker, Query extends z.ZodType, Body extends z.ZodType, Answer> {
  query?: Query;
  body?: Body;
  status?: 200 | 201;
  /** The least role; see {@link permitRole}. */
  scope?: Role;
  /** Returns the object to answer; `{}` without one. */
  handle(input: Parameters<PageSpec<Query, Body>["handle"]>[0] & { viewer: Asker }): Promise<Answer>;
}

/** Makes routes of those whom a response's guard has let in. */
export function routeFor<Asker>(find: (response: Response) => Asker) {
  return <
    Method extends Route["method"],
    Path extends string,
    Answer,
    Query extends z.ZodType = z.ZodUnknown,
    Body extends z.ZodType = z.ZodUnknown,
  >(
    method: Method,
    path: Path,
    { status = 200, handle, ...schemas }: ViewerSpec<Asker, Query, Body, Answer>,
  ) =>
    pageRoute<Query, Body>({
      method,
      path,
      ...schemas,
      async handle(input) {
        const body = await handle({ ...input, viewer: find(input.response) });
        return { status, body: body ?? {} };
      },
    }) as Answering<`${Method} ${Path}`, Answer>;
}

export const viewerRoute = routeFor(viewerOf);

/** A route for owners; it answers others 403. */
export const ownerRoute: typeof viewerRoute = (method, path, spec) =>
  viewerRoute(method, path, { ...spec, scope: "owner" });
