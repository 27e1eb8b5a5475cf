import type { Principal } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import type { Request, Response } from "express";

/** What a shared link opens: one site or trace of an account. Nothing of a request changes that. */
export type SharedLink = Principal;

export interface Opened {
  link: SharedLink;
  /** Whether the request has the cookie of the link's password, or the link has none. */
  isProven: boolean;
}

export function tokenOf({ params: { token } }: Request): string {
  return typeof token === "string" ? token : "";
}

/** The link of a request, with its password still to be given or not. Throws where `openLink` did not run. */
export function openedOf(response: Response): Opened {
  const opened: Opened | undefined = response.locals["opened"];
  if (!opened) throw new Error("This route is not behind openLink()");
  return opened;
}

/** @throws AppError 401 before the link's password is given */
export function linkOf(response: Response): SharedLink {
  const { link, isProven } = openedOf(response);
  if (!isProven) throw new AppError("wrong_password", { message: "This link needs its password" });
  return link;
}
