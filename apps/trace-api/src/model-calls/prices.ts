import type { calcPrice as CalcPrice } from "@pydantic/genai-prices";
import type { Tokens } from "@waymark/traces/otlp";
import { LRUCache } from "lru-cache";

/** Money is a whole number of these: 10^-30 dollars hold the list's rates, of up to 17 places, for one token. */
const places = 30;
/** Of a stored cost. */
const costPlaces = 12;

/** The decimal places of each price's unit, by the list's keys. */
const units = {
  input_mtok: 6,
  cache_read_mtok: 6,
  cache_write_mtok: 6,
  output_mtok: 6,
  output_reasoning_mtok: 6,
  requests_kcount: 3,
} as const;

type PriceName = keyof typeof units;

type Price = number | { base: number; tiers: { start: number; price: number }[] };
type Prices = Readonly<Partial<Record<PriceName, Price>>>;
/** The prices of one unit, for a call with so much input. */
type Rates = ReadonlyMap<PriceName, (input: number) => bigint>;
/** Finding a model in the list takes 20 µs. Senders choose the names, so their number is bounded. */
const maxKnownModels = 1_000;

/** Providers by OpenTelemetry's names that the list does not find by itself. */
const providerNames: Readonly<Record<string, string>> = {
  x_ai: "x-ai",
  xai: "x-ai",
  mistral_ai: "mistral",
  mistralai: "mistral",
  bedrock: "aws",
  "azure.ai.openai": "azure",
  "az.ai.openai": "azure",
  "azure.ai.inference": "azure",
  "amazon-bedrock": "aws",
  together_ai: "together",
  togetherai: "together",
};

interface CallToPrice {
  provider: string;
  model: string;
  tokens: Tokens | null;
  startedAt: string;
}

interface PricedCall {
  /** As the list names it: senders have several names for one, or none. */
  provider: string;
  /** Dollars as a decimal number; null for a model without a price, and for a call without tokens. */
  cost: string | null;
}

export type PriceCall = (call: CallToPrice) => PricedCall;

/** Loads the price list, 18 MB of memory, when the first call needs a price. It never asks the network. */
export async function loadPrices(): Promise<PriceCall> {
  const { calcPrice } = await import("@pydantic/genai-prices");
  const known = new LRUCache<string, { provider: string; rates: Rates | undefined }>({ max: maxKnownModels });
  return (call) => {
    const key = `${call.provider.length} ${call.provider}${call.model}`;
    let found = known.get(key);
    if (!found) {
      const { prices, provider, isOfTime } = findPrices(calcPrice, call);
      found = { provider, rates: prices && ratesOf(prices) };
      if (!isOfTime) known.set(key, found);
    }
    const { provider, rates } = found;
    return { provider, cost: rates && call.tokens ? roundDollars(dollarsOf(rates, call.tokens)) : null };
  };
}

/** An unknown provider leaves the choice to the model's name. `isOfTime` is true if another time may have other prices. */
function findPrices(calcPrice: typeof CalcPrice, { provider, model, startedAt }: CallToPrice) {
  if (model === "") return { prices: undefined, provider, isOfTime: false };
  const timestamp = new Date(startedAt);
  const find = (providerId?: string) => calcPrice({}, model, { timestamp, ...(providerId && { providerId }) });
  const ofProvider = find(providerNames[provider] ?? provider);
  const found = ofProvider ?? (provider === "" ? undefined : find());
  const prices = found?.model_price as Prices | undefined;
  const hasPrice = prices && ("input_mtok" in prices || "output_mtok" in prices);
  const isOfTime = Array.isArray(found?.model.prices);
  return { prices: hasPrice ? prices : undefined, provider: ofProvider?.provider.id ?? provider, isOfTime };
}

/** Parts without a rate of their own have that of the whole. */
function dollarsOf(rates: Rates, { input, output, cachedInput, cacheWrite, reasoning }: Tokens): bigint {
  const cached = rates.has("cache_read_mtok") ? cachedInput : 0;
  const written = rates.has("cache_write_mtok") ? cacheWrite : 0;
  const reasoned = rates.has("output_reasoning_mtok") ? reasoning : 0;
  const counts: Record<PriceName, number> = {
    input_mtok: input - cached - written,
    cache_read_mtok: cached,
    cache_write_mtok: written,
    output_mtok: output - reasoned,
    output_reasoning_mtok: reasoned,
    requests_kcount: 1,
  };
  let sum = 0n;
  for (const [name, rateFor] of rates) if (counts[name] !== 0) sum += BigInt(counts[name]) * rateFor(input);
  return sum;
}

function ratesOf(prices: Prices): Rates {
  const rates = new Map<PriceName, (input: number) => bigint>();
  for (const [name, unit] of Object.entries(units) as [PriceName, number][]) {
    const price = prices[name];
    if (price !== undefined) rates.set(name, rateOf(price, places - unit));
  }
  return rates;
}

/** A tier holds for all tokens of a call with more input than its start. */
function rateOf(price: Price, digits: number): (input: number) => bigint {
  const base = shifted(typeof price === "number" ? price : price.base, digits);
  if (typeof price === "number") return () => base;
  const tiers = price.tiers
    .toSorted((a, b) => a.start - b.start)
    .map((tier) => ({ start: tier.start, rate: shifted(tier.price, digits) }));
  return (input) => tiers.findLast(({ start }) => input > start)?.rate ?? base;
}

/** The number's shortest decimal text, the list's own, times a power of ten. */
function shifted(number: number, digits: number): bigint {
  const [mantissa = "", exponent = "0"] = String(number).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = digits + Number(exponent) - fraction.length;
  const all = BigInt(whole + fraction);
  return shift >= 0 ? all * 10n ** BigInt(shift) : all / 10n ** BigInt(-shift);
}

const costUnit = 10n ** BigInt(places - costPlaces);
const halfCostUnit = costUnit / 2n;

/** Half up, without zeros at the end. */
function roundDollars(amount: bigint): string {
  const rounded = (amount + halfCostUnit) / costUnit;
  const digits = rounded.toString().padStart(costPlaces + 1, "0");
  return `${digits.slice(0, -costPlaces)}.${digits.slice(-costPlaces)}`.replace(/\.?0+$/, "");
}

/** A sender's plain decimal number of dollars, rounded as ours. */
export function roundCost(cost: string): string {
  const [whole = "", fraction = ""] = cost.split(".");
  return roundDollars(BigInt(whole + fraction.slice(0, places).padEnd(places, "0")));
}
