import { textProblem } from "@waymark/service/fields";
import { AccountError } from "./account-error.js";

const maxNameLength = 200;

/** @throws AccountError `invalid_name` for a name that is blank, over 200 characters or not storable (NUL, lone surrogates) */
export function readName(name: string, owner: "key" | "site"): string {
  if (name.trim() !== "" && name.length <= maxNameLength && !textProblem(name)) return name;
  throw new AccountError("invalid_name", `A ${owner}'s name has 1 to ${maxNameLength} characters.`);
}
