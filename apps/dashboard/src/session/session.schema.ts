import type { LinkInfo, ProviderRefusal } from "@waymark/accounts/identity";
import { emailField, nameProblem, textField } from "@waymark/service/fields";
import { z } from "zod";

const maxPasswordLength = 200;
export const maxNameLength = 100;
const maxTokenLength = 200;

/** Only its length; the rules of a new password are `passwordProblem`'s. */
export const passwordField = () => textField({ max: maxPasswordLength });

export const nameField = () =>
  textField({ max: maxNameLength }).transform((text, context) => {
    const name = text.trim();
    const message = name === "" ? "Must not be empty" : nameProblem(name);
    if (message === undefined) return name;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

export interface EntryOptions {
  signUp: "open" | "invited";
  /** The host of the provider of OpenID Connect, where one is set. */
  provider?: string;
}

/** Why the way over the provider ended on the sign-in page, as `?refused=`. */
export type EntryRefusal = ProviderRefusal | "away" | "failed" | "no_role";

const maxCodeLength = 40;

/** Of the person's app, or a recovery code. */
export const codeField = () => textField({ max: maxCodeLength });

export const signInBody = z.strictObject({
  email: emailField(),
  password: passwordField(),
  code: codeField().optional(),
});
export type SignInBody = z.input<typeof signInBody>;

/**
 * The answer of `POST /sign-in`. 200: signed in, or `needsCode` after a right password without a code. 202: too many tries for the
 * address; after a right password a mail with a link is on its way. 401: wrong. 429: too many tries from here.
 */
export interface SignInAnswer {
  isSignedIn: boolean;
  needsCode?: true;
}

/** The body of `POST /sign-up`. The answer is 202 for any address: a mail goes out. 400 names wrong fields. */
export const signUpBody = z.strictObject({ name: nameField(), email: emailField(), password: passwordField() });
export type SignUpBody = z.input<typeof signUpBody>;

export const forgotBody = z.strictObject({ email: emailField() });
export type ForgotBody = z.input<typeof forgotBody>;

export interface MailedAnswer {
  isMailed: true;
}

/** The query of `GET /link`: it uses nothing up. 410 when the link does not work anymore. */
export const linkQuery = z.object({ token: z.string().max(maxTokenLength) });

export type { LinkInfo } from "@waymark/accounts/identity";

/**
 * The body of `POST /link`: uses the link and signs in; a known person's invitation only adds the account to their session. 410
 * when it does not work anymore, 401 where `needsSignIn`, 400 names missing fields.
 */
export const useLinkBody = z.strictObject({
  token: z.string().max(maxTokenLength),
  name: nameField().optional(),
  password: passwordField().optional(),
  code: codeField().optional(),
});
export type UseLinkBody = z.input<typeof useLinkBody>;

export interface UseLinkAnswer {
  /** False for a channel's link: it only lets alerts go to the address. */
  isSignedIn: boolean;
  purpose: LinkInfo["purpose"];
}

export const changeMeBody = z.strictObject({ name: nameField() });

/** The body of `POST /me/password`: `current` where `person.hasPassword`. The other sessions end. 401 when it is wrong. */
export const changePasswordBody = z.strictObject({ current: passwordField().optional(), password: passwordField() });
export type ChangePasswordBody = z.input<typeof changePasswordBody>;

export const switchAccountBody = z.strictObject({ accountId: z.uuid() });
export type SwitchAccountBody = z.input<typeof switchAccountBody>;
