import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const newKey = () => generateKeyPairSync("rsa", { modulusLength: 2_048 });

/** Made apart from the library that checks it. */
function signToken(claims: object, privateKey: ReturnType<typeof newKey>["privateKey"]): string {
  const signed = `${encoded({ alg: "RS256", kid: "one" })}.${encoded(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

async function readBody(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

const describeProvider = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
});

const send = (response: ServerResponse, body: object, status = 200) =>
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));

const createLies = () => ({
  person: {} as Record<string, unknown>,
  /** Changes the token's claims. */
  claims: {} as Record<string, unknown>,
  isForger: false,
  isDown: false,
  /** The profile is in `/userinfo` alone. */
  isTerse: false,
  asked: [] as string[],
});

/**
 * An honest provider of OpenID Connect on a loopback port, with one person who agrees at once: codes work once, for their
 * redirect, verifier and client. Tests make it lie by its members.
 */
export async function openProvider() {
  const [key, otherKey] = [newKey(), newKey()];
  const codes = new Map<string, { asked: URLSearchParams; person: Record<string, unknown> }>();
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = {
    issuer,
    env: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: "waymark", OIDC_CLIENT_SECRET: "a secret / of + signs" },
    ...createLies(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse, url: URL) => unknown> = {
    "/.well-known/openid-configuration": (_request, response) => send(response, describeProvider(issuer)),
    "/jwks": (_request, response) =>
      send(response, { keys: [{ ...key.publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" }] }),
    "/authorize": (_request, response, url) => {
      const code = randomUUID();
      codes.set(code, { asked: url.searchParams, person: { ...provider.person } });
      const back = new URL(url.searchParams.get("redirect_uri") ?? "");
      back.search = new URLSearchParams({ code, state: url.searchParams.get("state") ?? "" }).toString();
      response.writeHead(303, { Location: back.href }).end();
    },
    "/token": async (request, response) => {
      const body = await readBody(request);
      const { asked, person = {} } = codes.get(body.get("code") ?? "") ?? {};
      codes.delete(body.get("code") ?? "");
      const secret = encodeURIComponent(provider.env.OIDC_CLIENT_SECRET).replaceAll("%20", "+");
      const client = `Basic ${Buffer.from(`waymark:${secret}`).toString("base64")}`;
      const challenge = createHash("sha256")
        .update(body.get("code_verifier") ?? "")
        .digest("base64url");
      const isRight =
        request.headers.authorization === client &&
        asked?.get("code_challenge") === challenge &&
        asked.get("redirect_uri") === body.get("redirect_uri");
      if (!isRight) return send(response, { error: "invalid_grant" }, 400);
      const now = Math.floor(Date.now() / 1_000);
      const profile = provider.isTerse ? { sub: person["sub"] } : person;
      const about = { iss: issuer, aud: "waymark", iat: now, exp: now + 300, nonce: asked.get("nonce") };
      const token = signToken(
        { ...about, ...profile, ...provider.claims },
        (provider.isForger ? otherKey : key).privateKey,
      );
      return send(response, { access_token: "access", token_type: "Bearer", id_token: token });
    },
    "/userinfo": (request, response) =>
      request.headers.authorization === "Bearer access" ? send(response, provider.person) : send(response, {}, 401),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", issuer);
    provider.asked.push(url.pathname);
    const found = provider.isDown ? undefined : routes[url.pathname];
    if (found) await found(request, response, url);
    else send(response, {}, 503);
  }
  return provider;
}
