import { z } from "zod";

/** Why a machine reads a page; `assistant` answers a person's question, `agent` acts for one. */
const purposes = ["training", "search", "assistant", "agent", "feed", "preview", "monitor", "other"] as const;

export type Purpose = (typeof purposes)[number];

/** The bounds of a list keep the matcher's work for a user agent below a million characters. */
const [maxMachines, maxRanges] = [500, 5_000];

const name = z.string().min(1).max(60);
const day = z.iso.date();
const address = z.url({ protocol: /^https?$/ }).max(500);

/** A typing error must not let everybody be a machine. */
function isNarrow(range: string): boolean {
  return Number(range.split("/")[1]) >= (range.includes(":") ? 16 : 8);
}

const machine = z.strictObject({
  name: name.describe("As figures show it"),
  operator: name,
  purpose: z.enum(purposes),
  engine: name.optional().describe("The source of the visits that its answers send, as referrers name it"),
  userAgent: z
    .string()
    .regex(/^[\x20-\x7e]{3,60}$/)
    .optional()
    .describe(
      "Stands in its user agents as a word of its own, in any case; none if only its signature tells it from a person",
    ),
  signatureAgent: z
    .url({ protocol: /^https$/ })
    .max(200)
    .refine(
      (text) => URL.canParse(text) && new URL(text).origin === text,
      "Must be an origin, such as https://agent.example",
    )
    .optional()
    .describe("The origin that publishes the keys of its signatures (Web Bot Auth)"),
  ranges: z
    .array(z.union([z.cidrv4(), z.cidrv6()]).refine(isNarrow, "Must not be wider than /8, of IPv6 /16"))
    .max(maxRanges)
    .optional()
    .describe("All its addresses"),
  rangesUrl: address.optional().describe("Where its operator publishes them"),
  domains: z
    .array(
      z
        .string()
        .max(100)
        .regex(/^(?:[a-z\d-]+\.)+[a-z][a-z\d-]+$/),
    )
    .max(20)
    .optional()
    .describe("Of the names of its addresses"),
  source: address.describe("Where the operator describes it"),
  checked: day.describe("When somebody last compared the entry with its source"),
  example: z.string().min(3).max(1_024).optional().describe("A user agent of it"),
});

/** The file `assets/machines/machines.json`, and newer ones for `waymark bots update`. The first machine that fits counts. */
export const machineList = z.strictObject({ version: day, machines: z.array(machine).min(1).max(maxMachines) });

export type MachineList = z.infer<typeof machineList>;

export type Machine = MachineList["machines"][number];
