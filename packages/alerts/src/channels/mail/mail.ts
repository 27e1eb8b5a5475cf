import { normaliseEmail } from "@waymark/service/fields";
import { judgeMail } from "../../sending/judge-answer.js";
import type { Kind } from "../kind.js";
import { asMail } from "./mail-layout.js";

export const mail: Kind = {
  label: "Mail",
  hint: "An address outside the account confirms by a link first.",
  placeholder: "oncall@example.com",
  addressRule: "Must be an email address",
  readAddress: normaliseEmail,
  isPublic: true,
  needsConsent: true,
  async send({ id, to, owed, message }, { mailer }) {
    return judgeMail(await mailer.send({ ...asMail(message), to, idempotencyKey: id }), owed);
  },
};
