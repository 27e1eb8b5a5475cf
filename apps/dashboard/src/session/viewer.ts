import type { SessionCache, Viewer } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import type { RequestHandler, Response } from "express";

export type { Viewer } from "@waymark/accounts/identity";

export type Sessions = Pick<SessionCache, "find" | "forget">;

/** Passes requests with a session, and answers others 401. */
export function requireSession(sessions: Sessions): RequestHandler {
  return async (request, response, next) => {
    const viewer = await sessions.find(request.headers.cookie);
    if (!viewer) throw new AppError("not_signed_in");
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

/** @throws AppError 403 for a member */
export function ownerOf(response: Response): Viewer {
  const viewer = viewerOf(response);
  if (viewer.role !== "owner") throw new AppError("owner_only");
  return viewer;
}
