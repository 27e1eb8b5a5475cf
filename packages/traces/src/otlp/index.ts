export { type OtlpEncoding, type PartialSuccess, writeStatus, writeSuccess } from "./answer.js";
export type { Context } from "./context.js";
export { type MappedRequest, type MappedSpan, mapRequest, maxAttributesBytes } from "./map-request.js";
export { type ModelUsage, type Tokens, usageOfJson } from "./model-usage.js";
export { quoteNumbers, readJson } from "./read-json.js";
export { loadOtlpMessages, type OtlpMessages, readProtobuf } from "./read-protobuf.js";
export { MalformedRequest, type TraceRequest } from "./request.js";
export { spanUuid } from "./span-id.js";
