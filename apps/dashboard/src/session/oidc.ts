import { type Role, roles } from "@waymark/accounts/identity";
import { nameProblem, normaliseEmail } from "@waymark/service/fields";
import * as client from "openid-client";
import type { Config } from "../config.js";
import { maxNameLength } from "./session.schema.js";

/** Of each request to the provider. */
const timeoutSeconds = 5;
const discoveryLifeMs = 3_600_000;

/** What the browser keeps while it is at the provider. */
export interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
}

/** The installation's provider of OpenID Connect. What it says of itself is asked once an hour, and again after a failure. */
export function createOidc(settings: NonNullable<Config["oidc"]>, redirectUrl: URL) {
  let known: { configuration: Promise<client.Configuration>; until: number } | undefined;
  const configure = (): Promise<client.Configuration> => {
    if (known && Date.now() < known.until) return known.configuration;
    const asked = { configuration: discover(settings), until: Date.now() + discoveryLifeMs };
    known = asked;
    asked.configuration.catch(() => {
      if (known === asked) known = undefined;
    });
    return asked.configuration;
  };
  return {
    /** @returns the provider's page, and what the browser keeps meanwhile */
    async begin() {
      const configuration = await configure();
      const [state, nonce] = [client.randomState(), client.randomNonce()];
      const attempt: Attempt = { state, nonce, verifier: client.randomPKCECodeVerifier() };
      const location = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUrl.href,
        scope: "openid email profile",
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: "S256",
      });
      return { location: location.href, attempt };
    },
    /** Takes the provider's answer. @throws for anything wrong with it, its code or its token */
    async finish(search: string, { state, nonce, verifier }: Attempt) {
      const configuration = await configure();
      const url = new URL(redirectUrl);
      url.search = search;
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      const tokens = await client.authorizationCodeGrant(configuration, url, checks);
      const claims = tokens.claims();
      // OpenID Connect Core, 2: at most 255 characters of ASCII.
      if (!claims || !/^[\x20-\x7e]{1,255}$/.test(claims.sub)) throw new Error("The token has no usable subject");
      const claimsWith = async (name: string): Promise<Claims> => {
        const isWhole = claims[name] !== undefined || !configuration.serverMetadata().userinfo_endpoint;
        return isWhole ? claims : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      };
      const { roleClaim } = settings;
      const role = roleClaim === undefined ? undefined : roleOf((await claimsWith(roleClaim))[roleClaim]);
      const readProfile = async () => profileOf(await claimsWith("email_verified"));
      return { issuer: claims.iss, subject: claims.sub, role, readProfile };
    },
  };
}

function discover({ issuer, clientId, clientSecret }: NonNullable<Config["oidc"]>): Promise<client.Configuration> {
  const [byPost, byHeader] = [client.ClientSecretPost(clientSecret), client.ClientSecretBasic(clientSecret)];
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const isPost = server.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true;
    return (isPost ? byPost : byHeader)(server, ...rest);
  };
  // Signatures count too, not the connection alone.
  const execute = [client.enableNonRepudiationChecks];
  if (issuer.protocol === "http:") execute.push(client.allowInsecureRequests);
  return client.discovery(issuer, clientId, {}, authenticate, { timeout: timeoutSeconds, execute });
}

type Claims = Readonly<Record<string, unknown>>;

/** The one role that a claim names, alone or in a list beside other words; undefined for none, or for several. */
function roleOf(claim: unknown): Role | undefined {
  const named = roles.filter((role) => [claim].flat().includes(role));
  return named.length === 1 ? named[0] : undefined;
}

function profileOf({ email, email_verified: isProven, name }: Claims) {
  const given =
    typeof name === "string" ? name.replace(/\p{C}/gu, "").trim().slice(0, maxNameLength).toWellFormed() : "";
  return {
    email: isProven === true && typeof email === "string" ? normaliseEmail(email) : undefined,
    name: given === "" || nameProblem(given) ? undefined : given,
  };
}
