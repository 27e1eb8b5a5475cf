import type { SignInAnswer } from "../../src/session/session.schema.js";
import { ApiError, api } from "../data/api.js";

/** Whether the browser has passkeys, and their forms in JSON. */
export const hasPasskeys =
  typeof PublicKeyCredential === "function" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** The browser throws for a person who declines, and says no more of anything else. */
async function ask(work: Promise<Credential | null>): Promise<unknown> {
  const credential = await work.catch(() => null);
  if (credential instanceof PublicKeyCredential) return credential.toJSON();
  throw new ApiError(400, "No passkey was chosen. Try again.");
}

export async function signInByPasskey(): Promise<SignInAnswer> {
  const options = await api.post<PublicKeyCredentialRequestOptionsJSON>("/passkey/challenge");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return api.post<SignInAnswer>("/passkey", await ask(navigator.credentials.get({ publicKey })));
}

export async function addPasskey({ name, password }: { name: string; password: string }): Promise<void> {
  const body = password === "" ? {} : { password };
  const options = await api.post<PublicKeyCredentialCreationOptionsJSON>("/me/passkeys/challenge", body);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  await api.post("/me/passkeys", { name, credential: await ask(navigator.credentials.create({ publicKey })) });
}
