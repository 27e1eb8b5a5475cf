import { describe, expect, it } from "@jest/globals";
import { type AccountMail, composeAccountMail } from "./compose-account-mail.js";

const link = "https://waymark.example/dashboard/link/abc?x=1&y=2";
const expiresAt = new Date("2026-01-02T03:04:05.678Z");
const invite = { purpose: "invite", account: "Acme", inviter: "Ada" } as const;
const mails: readonly AccountMail[] = [
  { purpose: "verify" },
  { purpose: "known" },
  { purpose: "reset" },
  { purpose: "sign_in" },
  invite,
];

describe("a mail of an account", () => {
  it.each(mails)("has its link in text and HTML, and its end: $purpose", (mail) => {
    const { subject, text, html } = composeAccountMail({ ...mail, link, expiresAt });
    expect(subject.length).toBeGreaterThan(0);
    expect(text).toContain(`: ${link}\n`);
    expect(html).toContain('href="https://waymark.example/dashboard/link/abc?x=1&amp;y=2"');
    for (const body of [text, html]) expect(body).toContain("until 2026-01-02 03:04:05 UTC");
  });

  it("names no end without one", () => {
    const { text, html } = composeAccountMail({ purpose: "known", link });
    for (const body of [text, html]) expect(body).not.toContain("until");
  });

  it.each(["You won! Claim at prize.example", "ada@example.com", "https://x", "free。example"])(
    "of an invitation shows no address that somebody named their account or themselves: %s",
    (text) => {
      const mail = { ...invite, account: text, inviter: text, link, expiresAt };
      const { subject, text: body, html } = composeAccountMail(mail);
      expect(subject).toBe("Join an account on Waymark");
      expect(body).toMatch(/^Somebody invites you to an account on Waymark\.$/m);
      expect(body + html).not.toContain(text);
    },
  );

  it("keeps a person's text on its line, cut, and out of the HTML", () => {
    const account = `<b>x</b>\r\nBcc: victim ${"y".repeat(500)}`;
    const { subject, text, html } = composeAccountMail({ ...invite, account, link, expiresAt });
    expect(subject).not.toMatch(/[\r\n]/);
    expect(subject.length).toBeLessThanOrEqual(120);
    expect(text).not.toMatch(/^Bcc:/m);
    expect(html).not.toContain("<b>");
  });
});
