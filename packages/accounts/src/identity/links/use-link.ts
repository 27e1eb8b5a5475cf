import type { Slots } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import type pg from "pg";
import { recordAudit } from "../audit.query.js";
import { hasCodes, wrongCode } from "../factors/codes.query.js";
import { type Passwords, passwordProblem } from "../passwords/passwords.js";
import {
  addPerson,
  changePassword,
  claimAccount,
  findPersonByEmail,
  homeAccountOf,
  isMember,
  joinAccount,
  type NewMembership,
  setPassword,
  verifyPerson,
} from "../people/person.query.js";
import { startSession, switchAccount } from "../sessions/session.query.js";
import type { Viewer } from "../sessions/sessions.js";
import { browserProofOf, isToken } from "../token.js";
import { dropSignUps, findLink, type LinkPurpose, type LiveLink, takeLink } from "./link.query.js";

export type LinkInfo = Awaited<ReturnType<typeof readLink>>;

interface LinkDeps {
  pool: pg.Pool;
  confirmChannel(client: pg.ClientBase, channel: { accountId: string; channelId: string }): Promise<unknown>;
  passwords: Passwords;
  /** Uses up a code of a second factor. */
  takeCode(personId: string, code: string): Promise<boolean>;
  /** Of the cell; all by default. */
  slots?: Slots;
  now(): Date;
}

/** Reads what a link's page shows and asks for, without using the link up. @throws AppError 410 */
export async function readLink(
  { pool, now }: Pick<LinkDeps, "pool" | "now">,
  { token, browserProof, viewer }: LinkReference,
) {
  const link = await requireLink(pool, token, now());
  const { purpose, email, accountName, inviter, knownId, personId, accountId } = link;
  const isNew = purpose === "invite" && knownId === null;
  // The link alone opens nothing to a known person.
  const needsSignIn = purpose === "invite" && !isNew && knownId !== viewer?.personId;
  // Anybody can sign up with any address: a password given in another browser may be a stranger's.
  const isForeign = purpose === "verify" && browserProof !== browserProofOf(token);
  const needsPassword = isNew || isForeign || purpose === "reset";
  // A mailbox is one factor. A link of the command line has an account, and the operator may help somebody without a phone.
  const isMailed = purpose === "reset" || (purpose === "sign_in" && accountId === null);
  const needsCode = isMailed && personId !== null && (await hasCodes(pool, personId));
  return { purpose, email, accountName, inviter, needsSignIn, needsName: isNew, needsPassword, needsCode };
}

async function requireLink(pool: pg.Pool, token: string, now: Date): Promise<LiveLink> {
  const link = isToken(token) ? await findLink(pool, token, now) : undefined;
  if (!link) throw new AppError("link_expired");
  return link;
}

interface LinkReference {
  token: string;
  browserProof?: string | undefined;
  viewer?: Pick<Viewer, "personId" | "sessionId"> | undefined;
}

interface LinkInput extends LinkReference {
  /** Of the client, for the turns of hashes. */
  network: string;
  name?: string | undefined;
  password?: string | undefined;
  code?: string | undefined;
  userAgent?: string | undefined;
}

/**
 * Uses a link up and signs its person in, in one transaction; a known person's invitation only adds the account to their
 * session. Missing input leaves the link as it is. @throws AppError 410, 401, 400, or 409 `account_taken`
 */
export async function useLink(
  deps: LinkDeps,
  input: LinkInput,
): Promise<Partial<Arrived> & { purpose: LinkPurpose; sessionToken?: string }> {
  const { pool, passwords, takeCode, now } = deps;
  const { token, name, password, code, network, userAgent, viewer } = input;
  const at = now();
  const link = await requireLink(pool, token, at);
  const needed = await readLink(deps, input);
  if (needed.needsSignIn) throw new AppError("not_signed_in");
  const fields: Record<string, string> = {};
  if (needed.needsName && name === undefined) fields["name"] = "Required";
  if (needed.needsPassword) {
    const problem = password === undefined ? "Required" : passwordProblem(password);
    if (problem) fields["password"] = problem;
  }
  if (needed.needsCode && code === undefined) fields["code"] = "Required";
  if (Object.keys(fields).length > 0) throw validationError(fields);
  if (needed.needsCode && !(await takeCode(link.personId ?? "", code ?? ""))) throw wrongCode();
  const hash = needed.needsPassword && password !== undefined ? await passwords.hash(password, network) : undefined;
  return withTransaction(pool, async (client) => {
    if (!(await takeLink(client, token, at))) throw new AppError("link_expired");
    const arrived = await arrivals[link.purpose](client, link, { ...deps, name, hash, viewer });
    if (!arrived) return { purpose: link.purpose };
    const { personId, accountId } = arrived;
    if (link.purpose === "invite" && viewer?.personId === personId) {
      await switchAccount(client, { ...viewer, accountId });
      return { purpose: link.purpose, ...arrived };
    }
    const sessionToken = await startSession(client, { ...arrived, userAgent, now: at });
    return { purpose: link.purpose, ...arrived, sessionToken };
  });
}

interface Arrived {
  personId: string;
  accountId: string;
}

interface Given extends Pick<LinkDeps, "slots" | "confirmChannel">, Pick<LinkInput, "name" | "viewer"> {
  hash: string | undefined;
}

type Arrive = (client: pg.ClientBase, link: LiveLink, given: Given) => Promise<Arrived | undefined>;

const arrivals: Record<LinkPurpose, Arrive> = {
  async verify(client, { email, name, password: waiting }, { hash, slots }) {
    const password = hash ?? waiting;
    const personId = await addPerson(client, { email, name: name ?? email });
    if (personId === undefined) throw new AppError("link_expired");
    if (password !== null) await setPassword(client, personId, password);
    const accountId = await claimAccount(client, email, slots);
    if (accountId === undefined) throw new AppError("account_taken");
    await join(client, { accountId, personId, role: "owner" }, email);
    await dropSignUps(client, email);
    return { personId, accountId };
  },
  async reset(client, link, { hash }) {
    const personId = link.personId ?? "";
    if (hash === undefined) throw new AppError("link_expired");
    await changePassword(client, personId, hash);
    await verifyPerson(client, personId);
    return { personId, accountId: await requireHome(client, personId) };
  },
  async channel(client, { accountId, channelId }, { confirmChannel }) {
    await confirmChannel(client, { accountId: accountId ?? "", channelId: channelId ?? "" });
    return undefined;
  },
  async sign_in(client, { personId: id, accountId: wanted }) {
    const personId = id ?? "";
    await verifyPerson(client, personId);
    const home = await requireHome(client, personId);
    return { personId, accountId: wanted && (await isMember(client, wanted, personId)) ? wanted : home };
  },
  async invite(client, { email, accountId: id, role }, { name, hash, viewer }) {
    const accountId = id ?? "";
    const known = await findPersonByEmail(client, email);
    // Another request may have made the person in this moment. The link still works.
    if (known && known.id !== viewer?.personId) throw new AppError("not_signed_in");
    const personId = known?.id ?? (await addPerson(client, { email, name: name ?? email }));
    if (personId === undefined) throw new AppError("link_expired");
    if (known) await verifyPerson(client, personId);
    if (!known && hash !== undefined) await setPassword(client, personId, hash);
    await join(client, { accountId, personId, role: role ?? "member" }, email);
    return { personId, accountId };
  },
};

export async function join(client: pg.ClientBase, membership: NewMembership, email: string): Promise<void> {
  const isNew = await joinAccount(client, membership);
  const { accountId, personId, role } = membership;
  if (isNew) await recordAudit(client, { accountId, personId, action: "person_joined", subject: `${email} (${role})` });
}

async function requireHome(client: pg.ClientBase, personId: string): Promise<string> {
  const accountId = await homeAccountOf(client, personId);
  if (accountId === undefined) throw new AppError("link_expired");
  return accountId;
}
