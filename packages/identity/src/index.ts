export { type AuditAction, type AuditEntry, recordAudit } from "./audit/record-audit.query.js";
export { type Membership, type PersonInAccount, readViewer } from "./people/read-viewer.query.js";
export { type Role, startSession } from "./sessions/session.query.js";
export { createSessionCookie } from "./sessions/session-cookie.js";
export { createSessions, type SessionCache, type Viewer } from "./sessions/sessions.js";
