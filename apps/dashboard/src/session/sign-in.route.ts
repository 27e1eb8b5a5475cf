import {
  browserProofOf,
  createLinkIfFew,
  createPasswordCheck,
  createSessionCookie,
  createSignUpCookie,
  createToken,
  endSession,
  findPersonByEmail,
  hasCodes,
  homeAccountOf,
  linkUrl,
  type NewLink,
  passwordProblem,
} from "@waymark/accounts/identity";
import { AppError, validationError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type { Request } from "express";
import type { AppDeps } from "../app-deps.js";
import { codeCheck, enter, requireCode } from "./enter.js";
import {
  type EntryOptions,
  forgotBody,
  type MailedAnswer,
  type SignInAnswer,
  signInBody,
  signUpBody,
} from "./session.schema.js";

export function signInRoutes(deps: AppDeps) {
  const { config } = deps;
  const { signUp, oidc } = config;
  const entry: EntryOptions = { signUp, ...(oidc && { provider: oidc.issuer.host }) };
  const options = pageRoute({
    method: "get",
    path: "/sign-in",
    handle: async () => ({ status: 200, body: entry }),
  });
  return [options, signInRoute(deps), signOutRoute(deps), signUpRoute(deps), forgotRoute(deps)];
}

/**
 * `POST /sign-in`. Beyond the limit of an address of mail a right password gets a mailed link in place of a session, with the
 * answer of a wrong one: guessing goes nowhere, and nobody locks another person out. What is wrong here may be right in another
 * cell, which counts its guesses itself.
 */
function signInRoute(deps: AppDeps) {
  const { pool, guesses, otherCells, mails } = deps;
  const checkPassword = createPasswordCheck(deps);
  return pageRoute({
    method: "post",
    path: "/sign-in",
    body: signInBody,
    async handle({ body, request }) {
      const { email, password, code } = body;
      const { isAllowed, network, refund } = await guesses.admit(request, "sign-in", email);
      const found = await checkPassword(email, password, network);
      const askOthers = () => otherCells.ask({ request, method: "POST", path: "/sign-in", body });
      if (!isAllowed) {
        if (found) mails.later(() => mailLink(deps, { purpose: "sign_in", email, personId: found.personId }));
        else mails.later(async () => void (await askOthers()));
        return { status: 202, body: { isSignedIn: false } satisfies SignInAnswer };
      }
      const accountId = found && (await homeAccountOf(pool, found.personId));
      if (!found || accountId === undefined) {
        const answer = await askOthers();
        if (!answer) throw new AppError("wrong_password");
        if (answer.status === 200) await refund();
        return answer;
      }
      if (await hasCodes(pool, found.personId)) {
        if (code === undefined) {
          await refund();
          return { status: 200, body: { isSignedIn: false, needsCode: true } satisfies SignInAnswer };
        }
        await requireCode(codeCheck(deps, request), found.personId, code);
      }
      await refund();
      const headers = await enter(deps, request, { personId: found.personId, accountId });
      return { status: 200, headers, body: { isSignedIn: true } satisfies SignInAnswer };
    },
  });
}

/** `POST /sign-out`. Without a session it only removes the cookie. */
function signOutRoute({ pool, config, sessions }: AppDeps) {
  const cookie = createSessionCookie(config.url);
  return pageRoute({
    method: "post",
    path: "/sign-out",
    async handle({ request }) {
      const viewer = await sessions.find(request.headers.cookie);
      if (viewer) {
        await endSession(pool, viewer);
        sessions.forget(viewer.accountId);
      }
      return { status: 200, headers: { "Set-Cookie": cookie.remove() }, body: {} };
    },
  });
}

/** The answer to any address, known or not. */
const mailed = { status: 202, body: { isMailed: true } satisfies MailedAnswer };

/**
 * `POST /sign-up`. The mail decides: a new address gets a link that makes its person, a known one is told so. Work and answer
 * are the same for both. The browser keeps a proof: elsewhere the link asks for a password anew, since the one given here may be
 * that of a stranger.
 */
function signUpRoute(deps: AppDeps) {
  const { pool, config, passwords, guesses, mails } = deps;
  const cookie = createSignUpCookie(config.url);
  const mail = async (signUp: { name: string; email: string; passwordHash: string; token: string }) => {
    const { email } = signUp;
    if (!(await findPersonByEmail(pool, email))) return mailLink(deps, { purpose: "verify", ...signUp });
    const { isAllowed } = await mails.admit("known", email);
    if (isAllowed) await mails.send(email, { purpose: "known", link: new URL("/dashboard/sign-in", config.url).href });
  };
  return pageRoute({
    method: "post",
    path: "/sign-up",
    body: signUpBody,
    async handle({ body: { name, email, password }, request }) {
      if (config.signUp === "invited") throw new AppError("sign_up_closed");
      const problem = passwordProblem(password);
      if (problem) throw validationError({ password: problem });
      const { isAllowed, network } = await guesses.admit(request, "sign-up", email);
      const passwordHash = await passwords.hash(password, network);
      const token = createToken();
      if (isAllowed) mails.later(() => mail({ name, email, passwordHash, token }));
      return { ...mailed, headers: { "Set-Cookie": cookie.write(browserProofOf(token)) } };
    },
  });
}

/** `POST /forgot`: mails a link to a known address; each cell to those that it knows. */
function forgotRoute(deps: AppDeps) {
  const { pool, guesses, otherCells, mails } = deps;
  const mail = async (email: string, request: Request) => {
    const person = await findPersonByEmail(pool, email);
    if (person) await mailLink(deps, { purpose: "reset", email, personId: person.id });
    await otherCells.ask({ request, method: "POST", path: "/forgot", body: { email } });
  };
  return pageRoute({
    method: "post",
    path: "/forgot",
    body: forgotBody,
    async handle({ body: { email }, request }) {
      const { isAllowed } = await guesses.admit(request, "forgot", email);
      if (isAllowed) mails.later(() => mail(email, request));
      return mailed;
    },
  });
}

type MailedLink = Omit<NewLink, "now" | "purpose"> & { purpose: "verify" | "reset" | "sign_in" };

/** Mails a link, unless the address has ten of the purpose that still work: nobody fills a mailbox, or locks anybody out. */
async function mailLink({ pool, config, mails, now }: AppDeps, given: MailedLink): Promise<void> {
  const link = { ...given, now: now() };
  const made = await createLinkIfFew(pool, link);
  if (!made) return;
  const { token, expiresAt } = made;
  await mails.send(link.email, { purpose: link.purpose, link: linkUrl(config.url.href, token), expiresAt });
}
