export { listAudit, recordAudit, recordForPerson } from "./audit.query.js";
export { confirmCodes, dropCodes, hasCodes, offerCodes, takeCode, wrongCode } from "./factors/codes.query.js";
export {
  addPasskey,
  findPasskey,
  keepChallenge,
  listPasskeys,
  removePasskey,
  takeChallenge,
  usePasskey,
} from "./factors/passkeys.query.js";
export { arriveByProvider, type ProviderRefusal } from "./factors/provider.query.js";
export { createLink, createLinkIfFew, linkUrl, type NewLink } from "./links/link.query.js";
export { type LinkInfo, readLink, useLink } from "./links/use-link.js";
export {
  createPasswordCheck,
  createPasswords,
  type Passwords,
  passwordProblem,
} from "./passwords/passwords.js";
export {
  changePassword,
  findPersonByEmail,
  homeAccountOf,
  isMember,
  readPassword,
  readViewer,
  renamePerson,
  setPassword,
} from "./people/person.query.js";
export {
  changeRole,
  dropInvitation,
  isAccountSince,
  listInvitations,
  listPeople,
  removePerson,
  renameAccount,
  replaceInvitations,
} from "./people/team.query.js";
export {
  endSession,
  endSessionOfToken,
  endSessionsOf,
  listSessions,
  type Role,
  roles,
  startSession,
  switchAccount,
} from "./sessions/session.query.js";
export {
  createLinkCookie,
  createProviderCookie,
  createSessionCookie,
  createSessions,
  createSignUpCookie,
  type SessionCache,
  type Viewer,
} from "./sessions/sessions.js";
export { browserProofOf, createToken } from "./token.js";
