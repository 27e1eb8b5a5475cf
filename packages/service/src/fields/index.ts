export {
  findRepeatedMember,
  hasManyKeys,
  type JsonMember,
  type JsonShape,
  jsonElementMembers,
  jsonMembers,
  jsonShape,
  layOutJson,
  mergeMembers,
} from "./json-members.js";
export { type JsonLayout, parseInPieces, readOutline } from "./json-outline.js";
export { isPublicAddress, type Networks, networksVariable } from "./public-address.js";
export {
  asParameter,
  emailField,
  JsonText,
  jsonField,
  jsonObjectField,
  nameProblem,
  normaliseEmail,
  optionalChoice,
  textField,
  textProblem,
  wordsParameter,
} from "./text.js";
export { parseTimestamp, timestampField } from "./timestamp.js";
