export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  headers?: Readonly<Record<string, string>>;
  /** The same for every attempt at the same mail, so two attempts never become two mails. */
  idempotencyKey: string;
}

export type Delivery =
  | { outcome: "sent" }
  /** It may work later; `retryAfterMs` if the mail service asks for it. */
  | { outcome: "deferred"; reason: string; retryAfterMs?: number | undefined }
  /** Too many mails at the moment: no fault of this mail. */
  | { outcome: "rate-limited"; reason: string; retryAfterMs: number }
  /** It never works as it is. */
  | { outcome: "refused"; reason: string };

/** Sends mails; reports problems of the mail or its receiver as an outcome, not as an error. */
export interface Mailer {
  send(mail: Mail): Promise<Delivery>;
}
