import { arriveByProvider, createProviderCookie, keepChallenge, takeChallenge } from "@waymark/accounts/identity";
import { allSlots } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { type Answer, pageRoute } from "@waymark/service/http";
import type { Request, Response } from "express";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { enter } from "./enter.js";
import { createOidc } from "./oidc.js";
import type { EntryRefusal } from "./session.schema.js";

const maxNextLength = 1_000;
const home = "/dashboard/";

const attemptSchema = z.object({
  state: z.string().min(1),
  nonce: z.string().min(1),
  verifier: z.string().min(1),
  next: z.string(),
});

/** Keeps `next` below the dashboard: a path of this origin and no route of data, else the first page. */
function pathOf(next: string | undefined): string {
  if (next === undefined || !URL.canParse(next, "http://waymark.invalid")) return home;
  const { host, pathname, search } = new URL(next, "http://waymark.invalid");
  const isLocal = host === "waymark.invalid" && pathname.startsWith(home) && !pathname.startsWith("/dashboard/api/");
  return isLocal && pathname.length + search.length <= maxNextLength ? pathname + search : home;
}

const leadTo = (Location: string): Answer => ({ status: 303, headers: { Location }, body: {} });

/** The page says why, and password and passkey stay open. */
function leadBack(refused: EntryRefusal, next: string): Answer {
  return leadTo(`/dashboard/sign-in?${new URLSearchParams({ refused, next })}`);
}

/** Without a session: to the installation's provider of OpenID Connect, and back. 404 without its settings. */
export function oidcRoutes(deps: AppDeps) {
  const { pool, config, guesses, log, now } = deps;
  const cookie = createProviderCookie(config.url);
  const oidc = config.oidc && createOidc(config.oidc, new URL("/dashboard/api/oidc/callback", config.url));
  const challengeOf = (state: string) => ({ challenge: Buffer.from(state), personId: null, now: now() });

  /** An attempt that this browser began, unused and of the last five minutes. It is used up. */
  async function takeAttempt(request: Request) {
    const attempt = readAttempt(cookie.read(request.headers.cookie));
    const isOurs = attempt !== undefined && request.query["state"] === attempt.state;
    return isOurs && (await takeChallenge(pool, challengeOf(attempt.state))) ? attempt : undefined;
  }

  async function arrive(provider: NonNullable<typeof oidc>, request: Request, response: Response): Promise<Answer> {
    const attempt = await takeAttempt(request);
    if (!attempt) return leadBack("failed", home);
    const search = new URL(request.originalUrl, config.url).search;
    const identity = await provider.finish(search, attempt).catch((error: unknown) => {
      log.warn({ reason: String(error) }, "the provider's answer to a sign-in was refused");
    });
    if (!identity) return leadBack("failed", attempt.next);
    if (config.oidc?.roleClaim !== undefined && identity.role === undefined) return leadBack("no_role", attempt.next);
    const options = { pool, slots: config.slots ?? allSlots, signUp: config.signUp, now };
    const arrived = await arriveByProvider(options, identity);
    if ("refusal" in arrived) return leadBack(arrived.refusal, attempt.next);
    await guesses.refund(request, "provider");
    const { "Set-Cookie": session } = await enter(deps, request, arrived);
    response.append("Set-Cookie", session);
    return leadTo(attempt.next);
  }

  return [
    pageRoute({
      method: "get",
      path: "/oidc",
      query: z.object({ next: z.string().max(2_000).optional() }),
      async handle({ query, request }) {
        if (!oidc) throw new AppError("not_found");
        const next = pathOf(query.next);
        await guesses.admit(request, "provider");
        const begun = await oidc.begin().catch((error: unknown) => {
          log.warn({ reason: String(error) }, "the provider of OpenID Connect is away");
        });
        if (!begun) return leadBack("away", next);
        await keepChallenge(pool, challengeOf(begun.attempt.state));
        const kept = Buffer.from(JSON.stringify({ ...begun.attempt, next })).toString("base64url");
        return { status: 303, headers: { Location: begun.location, "Set-Cookie": cookie.write(kept) }, body: {} };
      },
    }),
    pageRoute({
      method: "get",
      path: "/oidc/callback",
      lenientQuery: [],
      async handle({ request, response }) {
        if (!oidc) throw new AppError("not_found");
        response.append("Set-Cookie", cookie.remove());
        return arrive(oidc, request, response);
      },
    }),
  ];
}

function readAttempt(kept: string | undefined) {
  try {
    return attemptSchema.parse(JSON.parse(Buffer.from(kept ?? "", "base64url").toString()));
  } catch {
    return undefined;
  }
}
