import {
  browserProofOf,
  createSignUpCookie,
  createToken,
  findPersonByEmail,
  passwordProblem,
} from "@waymark/accounts/identity";
import { AppError, validationError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { mailLink } from "./mail-link.js";
import { signUpBody } from "./session.schema.js";
import { mailed, type SignUpDeps } from "./sign-up-deps.js";

/**
 * `POST /sign-up`. The mail decides: a new address gets a link that makes its person, a known one is told so. Work and answer
 * are the same for both. The browser keeps a proof: elsewhere the link asks for a password anew, since the one given here may be
 * that of a stranger.
 */
export function signUpRoute(deps: SignUpDeps) {
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
