export { codexTrace } from "./agent-events.js";
export {
  type Completion,
  completionOf,
  type StoredLog,
  usageOfLogs,
  usageOfStored,
  withLogs,
} from "./complete-span.js";
export { type SomeLabels, sortedTags, titleOf } from "./content.js";
export { evaluationEvent, isGeneric } from "./conventions.js";
export {
  type AskBudget,
  agentIn,
  agentInSql,
  nameOf,
  nameRanks,
  originOf,
  type TraceName,
  toldAgentOf,
} from "./describe.js";
export { codexStarts, hasContent, type MappedLog, type MappedLogs, mapLogs } from "./map-logs.js";
export {
  type Context,
  type MappedRequest,
  type MappedSpan,
  mapRequest,
  maxAttributesBytes,
  spanUuid,
} from "./map-request.js";
export { type Evaluation, evaluationOfJson, type ModelUsage, type Tokens, usageOfJson } from "./model-usage.js";
export {
  loadOtlpMessages,
  type OtlpEncoding,
  type OtlpMessages,
  type PartialSuccess,
  readProtobuf,
  rejectedName,
  writeSuccess,
} from "./protobuf.js";
export {
  metricKinds,
  quoteNumbers,
  type Requests,
  RoundedNumber,
  readersAt,
  readJson,
  type Signal,
} from "./read-json.js";
export { MalformedRequest } from "./request.js";
export { type RpcStatus, readStatus, rpcCodes, writeStatus, writeStatusDetails } from "./rpc-status.js";
