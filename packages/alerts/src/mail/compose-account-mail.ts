import { nameProblem } from "@waymark/service/fields";
import { bounds, escapeHtml, formatMoment, oneLine, styles } from "./mail-text.js";

export type AccountMail = { purpose: keyof typeof letters } | { purpose: "invite"; account: string; inviter: string };

interface Letter {
  subject: string;
  lines: readonly string[];
  action: string;
  /** For a person who asked for nothing. */
  footer: string;
}

const unasked = "If you did not ask for this mail, ignore it: nothing changes.";

/** Shows people's texts cut and on one line. The link is a page of the dashboard, and may end at `expiresAt`. */
export function composeAccountMail(mail: AccountMail & { link: string; expiresAt?: Date }) {
  const { subject, lines, action, footer } = letterOf(mail);
  const { link, expiresAt } = mail;
  const limit = expiresAt ? [`The link works once, until ${formatMoment(expiresAt)}.`] : [];
  return {
    subject,
    text: [...lines, "", `${action}: ${link}`, ...limit, "", footer, ""].join("\n"),
    html: [
      `<div style="${styles.body}">`,
      ...lines.map((line) => `<p>${escapeHtml(line)}</p>`),
      `<p><a href="${escapeHtml(link)}">${action}</a></p>`,
      ...limit.map((line) => `<p>${line}</p>`),
      `<p style="${styles.small}">${escapeHtml(footer)}</p>`,
      "</div>",
    ].join("\n"),
  };
}

const letters = {
  /** Proves the address of a new person, or one that changed. */
  verify: {
    subject: "Confirm your address",
    lines: ["Confirm this address to use your Waymark account."],
    action: "Confirm the address",
    footer: unasked,
  },
  /** Somebody signed up with an address that has a person. */
  known: {
    subject: "You have an account already",
    lines: [
      "Somebody, perhaps you, signed up for Waymark with this address. It has an account already.",
      "Sign in with your password, or choose a new one there.",
    ],
    action: "Sign in",
    footer: unasked,
  },
  reset: {
    subject: "Choose a new password",
    lines: ["Somebody, perhaps you, asked for a new password of your Waymark account."],
    action: "Choose a new password",
    footer: unasked,
  },
  /** A way in for a person whose address saw too many wrong passwords. */
  sign_in: {
    subject: "Finish signing in",
    lines: [
      "Somebody, perhaps you, signed in with the right password after too many wrong ones for this address.",
      "Choose a new password if that was not you.",
    ],
    action: "Finish signing in",
    footer: "Without this link nobody gets in.",
  },
} satisfies Record<string, Letter>;

function letterOf(mail: AccountMail): Letter {
  if (mail.purpose !== "invite") return letters[mail.purpose];
  // An account without a name shows its address, and old names may hold any.
  const isNamed = nameProblem(mail.account) === undefined;
  const inviter = nameProblem(mail.inviter) === undefined ? oneLine(mail.inviter, bounds.line) : "Somebody";
  const account = isNamed ? `the account “${oneLine(mail.account, bounds.line)}”` : "an account";
  return {
    subject: isNamed ? oneLine(`Join “${mail.account}” on Waymark`, bounds.subject) : "Join an account on Waymark",
    lines: [`${inviter} invites you to ${account} on Waymark.`],
    action: "Join the account",
    footer: "If you do not know the sender, ignore this mail.",
  };
}
