export { listAudit } from "./audit/list-audit.query.js";
export { type AuditAction, recordAudit } from "./audit/record-audit.query.js";
export { createLink, hasEnoughLinks, type NewLink } from "./links/link.query.js";
export { linkUrl } from "./links/sign-in-link.js";
export { type LinkInfo, readLink, useLink } from "./links/use-link.js";
export { type CheckPassword, createPasswordCheck } from "./passwords/check-password.js";
export { passwordProblem } from "./passwords/password-problem.js";
export { createPasswords, type Passwords } from "./passwords/passwords.js";
export {
  changePassword,
  findPersonByEmail,
  homeAccountOf,
  isMember,
  readPassword,
  renamePerson,
  setPassword,
} from "./people/person.query.js";
export { type PersonInAccount, readViewer } from "./people/read-viewer.query.js";
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
  startSession,
  switchAccount,
} from "./sessions/session.query.js";
export { createSessionCookie, createSignUpCookie } from "./sessions/session-cookie.js";
export { createSessions, type SessionCache, type Viewer } from "./sessions/sessions.js";
export { browserProofOf, createToken } from "./token.js";
