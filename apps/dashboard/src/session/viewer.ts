import { AppError } from "@waymark/errors";
import type { RequestHandler, Response } from "express";

export type Role = "owner" | "member";

/** Who asks, and for which account. */
export interface Viewer {
  personId: string;
  sessionId: string;
  accountId: string;
  role: Role;
  /** Whether the person runs this installation (`OPERATORS`). */
  isOperator: boolean;
}

export interface Sessions {
  /** Finds the viewer of a `Cookie` header; undefined when it has no good session. */
  find(cookies: string | undefined): Promise<Viewer | undefined>;
}

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
