import { z } from "zod";

/** One @, text on both sides, no white space. Only a mail proves an address. RFC 5321 sets the limit of 254. */
const emailPattern = /^[^\s@\p{Cc}<>(),;:"[\]\\]+@[^\s@\p{Cc}<>(),;:"[\]\\]+$/u;
const maxEmailLength = 254;

/** The address in lower case without outer spaces; undefined if it is none. */
export function normaliseEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return emailPattern.test(email) && email.length <= maxEmailLength ? email : undefined;
}

/** A field with an address, in lower case. */
export function emailField() {
  return z.string().transform((text, context) => {
    const email = normaliseEmail(text);
    if (email !== undefined) return email;
    context.addIssue({ code: "custom", message: "Must be an email address" });
    return z.NEVER;
  });
}
