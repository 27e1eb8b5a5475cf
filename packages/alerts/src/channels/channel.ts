import { randomBytes } from "node:crypto";
import { validationError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";
import { type ChannelKind, kinds } from "./kinds.js";

export const alertStatuses = ["error", "timeout"] as const;
type AlertStatus = (typeof alertStatuses)[number];

/** A channel as somebody asks for it. Without agents it gets all of them, without statuses both. */
export interface ChannelInput {
  kind: ChannelKind;
  to: string;
  agents?: readonly string[] | undefined;
  statuses?: readonly AlertStatus[] | undefined;
  recovered?: boolean | undefined;
}

export const maxChannelsPerAccount = 20;
const maxAgents = 100;
const maxAgentBytes = 255;

/** Checks a channel. @throws AppError 400 with a message per field */
export function readChannel(input: ChannelInput): Required<ChannelInput> {
  const { kind, agents = [], statuses = [], recovered = false } = input;
  const { readAddress, addressRule } = kinds[kind];
  const to = readAddress(input.to);
  const fields: Record<string, string> = {};
  if (to === undefined) fields["to"] = addressRule;
  const problem = agentsProblem(agents);
  if (problem !== undefined) fields["agent"] = problem;
  if (to === undefined || problem !== undefined) throw validationError(fields);
  return { kind, to, agents: [...new Set(agents)], statuses: [...new Set(statuses)], recovered };
}

function agentsProblem(agents: readonly string[]): string | undefined {
  if (agents.length > maxAgents) return `Must be at most ${maxAgents} agents`;
  for (const agent of agents) {
    if (agent.trim() === "") return "Must not be blank";
    if (Buffer.byteLength(agent) > maxAgentBytes) return `Must be at most ${maxAgentBytes} bytes of UTF-8`;
    const problem = textProblem(agent);
    if (problem) return problem;
  }
  return undefined;
}

/** A new signing key of Standard Webhooks: 32 random bytes. */
export function createSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}
