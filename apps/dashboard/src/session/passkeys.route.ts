import { randomBytes } from "node:crypto";
import {
  addPasskey,
  findPasskey,
  homeAccountOf,
  keepChallenge,
  listPasskeys,
  readViewer,
  removePasskey,
  takeChallenge,
  usePasskey,
} from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { enter } from "./enter.js";
import { requireOwnPassword } from "./own-password.js";
import { nameField, passwordField, type SignInAnswer } from "./session.schema.js";
import { type AnswerOf, viewerRoute } from "./viewer.js";

export type PasskeyList = AnswerOf<typeof passkeyRoutes, "get /me/passkeys">;

/** It takes longer to load than the rest of the dashboard, and few processes see a passkey. */
const loadWebauthn = () => import("@simplewebauthn/server");

const maxIdLength = 1_400;
const maxTextLength = 20_000;
const challengeBytes = 32;
const text = () => z.string().min(1).max(maxTextLength);

const credential = <Shape extends z.ZodRawShape>(response: Shape) =>
  z.object({
    id: z.string().min(1).max(maxIdLength),
    rawId: z.string().max(maxIdLength),
    type: z.literal("public-key"),
    response: z.object({ clientDataJSON: text(), ...response }),
  });

const assertionBody = credential({ authenticatorData: text(), signature: text() });
const newPasskeyBody = z.object({ name: nameField(), credential: credential({ attestationObject: text() }) });

/** Of this installation's pages alone, with the person proven to the device: so a passkey is two factors. */
const expectationsOf = ({ config: { url } }: AppDeps) => ({
  expectedOrigin: url.origin,
  expectedRPID: url.hostname,
  requireUserVerification: true,
});

/** A verification throws for each thing that is wrong. @throws AppError 400 */
async function verified<Verification>(verify: Promise<Verification & { verified: boolean }>) {
  const result = await verify.catch(() => undefined);
  if (!result?.verified) throw new AppError("wrong_passkey");
  return result;
}

/** Without a session: a challenge, and the sign-in by a passkey's answer to it. */
export function passkeySignInRoutes(deps: AppDeps) {
  const { pool, config, guesses, otherCells, now } = deps;
  return [
    pageRoute({
      method: "post",
      path: "/passkey/challenge",
      async handle({ request }) {
        await guesses.admit(request, "challenge");
        const own = randomBytes(challengeBytes);
        await keepChallenge(pool, { challenge: own, personId: null, now: now() });
        // One cell knows the passkey, and each trusts its own part alone.
        const { given } = await otherCells.askAll({ request, method: "POST", path: "/passkey/challenge", body: {} });
        const parts = given.map(({ body }) => Buffer.from(challengeAnswer.parse(body).challenge, "base64url"));
        const options = { rpID: config.url.hostname, userVerification: "required" } as const;
        const challenge = Buffer.concat([own, ...parts]);
        const { generateAuthenticationOptions } = await loadWebauthn();
        return { status: 200, body: await generateAuthenticationOptions({ ...options, challenge }) };
      },
    }),
    pageRoute({
      method: "post",
      path: "/passkey",
      body: assertionBody,
      async handle({ body, request }) {
        const { refund } = await guesses.admit(request, "passkey");
        const known = await findPasskey(pool, body.id);
        const accountId = known && (await homeAccountOf(pool, known.personId));
        if (!known || accountId === undefined) {
          const answer = await otherCells.ask({ request, method: "POST", path: "/passkey", body });
          if (!answer) throw new AppError("wrong_passkey");
          if (answer.status === 200) await refund();
          return answer;
        }
        const { verifyAuthenticationResponse } = await loadWebauthn();
        const { authenticationInfo } = await verified(
          verifyAuthenticationResponse({
            ...expectationsOf(deps),
            response: { ...body, clientExtensionResults: {} },
            expectedChallenge: (challenge) => takePart(deps, challenge),
            credential: { id: body.id, publicKey: new Uint8Array(known.publicKey), counter: known.counter },
          }),
        );
        const use = { id: body.id, counter: authenticationInfo.newCounter, now: now() };
        if (!(await usePasskey(pool, use))) throw new AppError("wrong_passkey");
        await refund();
        const headers = await enter(deps, request, { personId: known.personId, accountId });
        return { status: 200, headers, body: { isSignedIn: true } satisfies SignInAnswer };
      },
    }),
  ];
}

const challengeAnswer = z.object({ challenge: z.string().max(64) });

/** The cells there may be, each with a part. */
const maxParts = 64;

/** Whether one part of a signed challenge is this cell's, of the last minutes and unused. It is used up. */
async function takePart({ pool, now }: AppDeps, signed: string): Promise<boolean> {
  const bytes = Buffer.from(signed, "base64url");
  const count = Math.min(maxParts, Math.floor(bytes.length / challengeBytes));
  for (let at = 0; at < count; at++) {
    const challenge = bytes.subarray(at * challengeBytes, (at + 1) * challengeBytes);
    if (await takeChallenge(pool, { challenge, personId: null, now: now() })) return true;
  }
  return false;
}

/** A person's own passkeys. */
export function passkeyRoutes(deps: AppDeps) {
  const { pool, config, now } = deps;
  return [
    viewerRoute("get", "/me/passkeys", { handle: ({ viewer: { personId } }) => listPasskeys(pool, personId) }),
    viewerRoute("post", "/me/passkeys/challenge", {
      scope: "viewer",
      body: z.strictObject({ password: passwordField().optional() }),
      async handle({ viewer: { personId, accountId }, body: { password }, request }) {
        await requireOwnPassword(deps, request, { personId, given: password, field: "password" });
        const email = (await readViewer(pool, { personId, accountId }))?.person.email ?? "";
        const challenge = randomBytes(challengeBytes);
        await keepChallenge(pool, { challenge, personId, now: now() });
        const { passkeys } = await listPasskeys(pool, personId);
        const { generateRegistrationOptions } = await loadWebauthn();
        return generateRegistrationOptions({
          rpName: "Waymark",
          rpID: config.url.hostname,
          userName: email,
          userID: new Uint8Array(Buffer.from(personId.replaceAll("-", ""), "hex")),
          challenge,
          excludeCredentials: passkeys.map(({ id }) => ({ id })),
          authenticatorSelection: { residentKey: "required", userVerification: "required" },
        });
      },
    }),
    viewerRoute("post", "/me/passkeys", {
      scope: "viewer",
      status: 201,
      body: newPasskeyBody,
      async handle({ viewer: { personId }, body }) {
        const take = (signed: string) =>
          takeChallenge(pool, { challenge: Buffer.from(signed, "base64url"), personId, now: now() });
        const { verifyRegistrationResponse } = await loadWebauthn();
        const { registrationInfo } = await verified(
          verifyRegistrationResponse({
            ...expectationsOf(deps),
            response: { ...body.credential, clientExtensionResults: {} },
            expectedChallenge: take,
          }),
        );
        if (!registrationInfo) throw new AppError("wrong_passkey");
        const { id, publicKey, counter } = registrationInfo.credential;
        await addPasskey(pool, { id, personId, name: body.name, publicKey, counter });
      },
    }),
    viewerRoute("delete", "/me/passkeys/:passkey_id", {
      scope: "viewer",
      async handle({ viewer: { personId }, params }) {
        const isGone = await removePasskey(pool, { id: params["passkey_id"] ?? "", personId });
        if (!isGone) throw new AppError("not_found");
      },
    }),
  ] as const;
}
