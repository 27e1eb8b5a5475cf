export { asParameter } from "./as-parameter.js";
export { optionalChoice } from "./choice.js";
export { emailField, normaliseEmail } from "./email.js";
export { findRepeatedMember, type JsonMember, jsonElementMembers, jsonMembers, jsonShape } from "./json-members.js";
export { JsonText, jsonField, jsonObjectField } from "./json-text.js";
export { layOutJson } from "./lay-out-json.js";
export { mergeMembers } from "./merge-members.js";
export { textField, textProblem } from "./text.js";
export { parseTimestamp, timestampField } from "./timestamp.js";
