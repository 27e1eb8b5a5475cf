/** A mail to one person. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The same for every attempt at the same mail, so that two attempts never become two mails. */
  idempotencyKey: string;
}

/** What became of an attempt to send. */
export type Delivery =
  | { outcome: "sent" }
  /** It may work later; `retryAfterMs` where the receiving side said when. */
  | { outcome: "deferred"; reason: string; retryAfterMs?: number | undefined }
  /** Too many mails at the moment: no fault of this mail. */
  | { outcome: "rate-limited"; reason: string; retryAfterMs: number }
  /** It never works as it is. */
  | { outcome: "refused"; reason: string };

/** Sends mails; never rejects for a reason that lies with the mail or its receiver. */
export interface Mailer {
  send(mail: Mail): Promise<Delivery>;
}
