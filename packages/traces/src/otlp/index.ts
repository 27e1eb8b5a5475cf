export { type SomeLabels, sortedTags } from "./content.js";
export {
  type Context,
  type MappedRequest,
  type MappedSpan,
  mapRequest,
  maxAttributesBytes,
  spanUuid,
} from "./map-request.js";
export { type ModelUsage, type Tokens, usageOfJson } from "./model-usage.js";
export {
  loadOtlpMessages,
  type OtlpEncoding,
  type OtlpMessages,
  type PartialSuccess,
  readProtobuf,
  writeStatus,
  writeSuccess,
} from "./protobuf.js";
export { quoteNumbers, readJson, type TraceRequest } from "./read-json.js";
export { MalformedRequest } from "./request.js";
