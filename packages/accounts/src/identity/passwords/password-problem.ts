import { commonPasswords } from "./common-passwords.js";

const minPasswordLength = 10;
const maxPasswordLength = 200;

/** The reason why a new password is refused, as a sentence for its field; undefined if it is good. */
export function passwordProblem(password: string): string | undefined {
  if (password.length < minPasswordLength) return `Must have at least ${minPasswordLength} characters`;
  if (password.length > maxPasswordLength) return `Must have at most ${maxPasswordLength} characters`;
  if (commonPasswords.has(password.toLowerCase())) return "Is one of the commonest passwords; choose another one";
  if (new Set(password).size < 3) return "Must have at least 3 different characters";
  return undefined;
}
