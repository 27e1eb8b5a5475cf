export { asParameter } from "./as-parameter.js";
export { optionalChoice } from "./choice.js";
export { emailField, normaliseEmail } from "./email.js";
export {
  findRepeatedMember,
  hasManyKeys,
  type JsonMember,
  type JsonShape,
  jsonElementMembers,
  jsonMembers,
  jsonShape,
} from "./json-members.js";
export { type JsonLayout, readOutline } from "./json-outline.js";
export { JsonText, jsonField, jsonObjectField } from "./json-text.js";
export { layOutJson } from "./lay-out-json.js";
export { mergeMembers } from "./merge-members.js";
export { nameProblem } from "./name-problem.js";
export { textField, textProblem } from "./text.js";
export { parseTimestamp, timestampField } from "./timestamp.js";
