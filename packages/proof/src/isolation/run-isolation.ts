import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { changePlan } from "@waymark/accounts";
import { createRandom } from "@waymark/local";
import { nameOf, type Operation, readOperations } from "../fuzz/operations.js";
import { fillSite, planCostly } from "../fuzz/plan-costly.js";
import { complete, planRequests, watchAll } from "../fuzz/run-fuzz.js";
import { curlOf, type Received, send } from "../fuzz/send.js";
import { type System, withoutRateLimits } from "../system/start-system.js";
import { createTenant, learnIds, renewProofs } from "../system/tenant.js";
import { type Actor, createActor, mustBeRefused, rights } from "./actor.js";
import { excused } from "./excused.js";
import { findLeak, findMisdirected, shapeOf } from "./find-leak.js";
import { type Act, namesOthersThing, type Performed, perform } from "./perform.js";
import { readWitness } from "./witness.js";

export const isolationSettings = { ...withoutRateLimits, OPERATORS: "owner-qqashzz@example.com" };

interface IsolationOptions {
  operations: number;
  seed: number;
  /** One account more sends requests at the maxima of their limits, and the witness's small requests must not wait. */
  costly?: boolean;
  say(line: string): void;
}

interface IsolationResult {
  operations: number;
  /** Of operations with another's ids. */
  foreign: number;
  events: number;
  messages: number;
  failures: string[];
  untried: string[];
}

const maxFailures = 20;
/** Plain pages know no tenant. */
const isOfTenants = ({ description }: Operation) => description.operationId !== "";
const isLiveStream = ({ path }: Operation) => path.endsWith("/stream");

/** Several accounts do random operations on own, foreign and missing things; nobody may see another's mark or change another's data. */
export async function runIsolation(system: System, options: IsolationOptions): Promise<IsolationResult> {
  const { seed, costly = false, say } = options;
  const { messages } = system.receiver;
  const witness = await createActor(system, "witness");
  const actors = await Promise.all(["ash", "birch", "cedar", "dogwood"].map((each) => createActor(system, each)));
  const everybody = [witness, ...actors];
  const operations = (await readOperations(system, witness.cookie)).filter(isOfTenants);
  const failures: string[] = [];
  const fail = (fault: string) => {
    if (!failures.includes(fault)) say(`FAILED ${fault}`);
    if (!failures.includes(fault)) failures.push(fault);
  };
  const names = operations.map(nameOf);
  for (const name of Object.keys(excused)) if (!names.includes(name)) fail(`no service has ${name}`);
  const listeners = await openListeners(system, everybody);
  const done = new Set<string>();
  await Promise.all(everybody.map((actor) => fill(system, { actor, operations, done })));
  const before = await readWitness(system, witness, operations);
  say(`${everybody.length} accounts have data; the witness's ${before.stable.size} answers stand still`);

  const result = { operations: 0, foreign: 0 };
  const step = async (actor: Actor, random: () => number) => {
    const act = chooseAct({ actor, everybody, operations, random });
    const performed = await perform(system, act);
    const others = everybody.filter((each) => each !== actor);
    const name = `${nameOf(act.operation)} as ${act.right}`;
    for (const fault of await judge(system, act, performed, others))
      fail(`${name} ${fault}\n  ${curlOf(performed.sent)}`);
    if (namesOthersThing(act, performed)) result.foreign++;
    await learn(system, act, performed.received, done);
  };
  const work = async (actor: Actor, index: number) => {
    const random = createRandom(seed * 31 + index).next;
    while (result.operations < options.operations && failures.length < maxFailures) {
      if (++result.operations % 1_000 === 0) say(`${result.operations} operations, ${failures.length} failures`);
      if (index === 3 && result.operations > options.operations / 2) await downgrade(system, actor);
      await step(actor, random);
    }
  };
  const run = () => Promise.all(actors.map(work));
  const runBeside = () => besideCostly(system, { operations, seed }, run);
  for (const fault of costly ? await watchAll(system, witness, runBeside) : await run().then(() => [])) fail(fault);
  for (const fault of await before.findChanges()) fail(fault);
  for (const fault of findMisdirected(messages, everybody)) fail(fault);
  for (const fault of listeners.findLeaks()) fail(fault);
  listeners.close();
  return {
    ...result,
    events: listeners.countEvents(),
    messages: messages.length,
    failures,
    untried: names.filter((name) => !Object.hasOwn(excused, name) && !done.has(name)),
  };
}

interface Filling {
  actor: Actor;
  operations: readonly Operation[];
  done: Set<string>;
}

/** Gives an account data by its own requests. A second round repeats those that lacked what later ones made. */
async function fill(system: System, { actor, operations, done }: Filling) {
  let left = operations.filter(
    (each) => each.method !== "DELETE" && !isLiveStream(each) && !/sign-out|switch/.test(each.path),
  );
  for (let round = 0; round < 2; round++) {
    const failed: Operation[] = [];
    for (const operation of left) {
      const act: Act = { operation, actor, right: "owner", victim: actor, seed: round };
      const { received } = await perform(system, act);
      await learn(system, act, received, done);
      if (received.status >= 300) failed.push(operation);
    }
    left = failed;
  }
}

async function learn(system: System, { operation, actor, right, victim }: Act, received: Received, done: Set<string>) {
  if (victim !== actor) return;
  if (received.status < 300) {
    learnIds(actor, operation.path, received.text);
    done.add(nameOf(operation));
  }
  const isKeyGone = received.status === 401 && (right === "owner" || right === "member");
  if (isKeyGone) await renewProofs(system, actor);
}

interface Choice {
  actor: Actor;
  everybody: readonly Actor[];
  operations: readonly Operation[];
  random(): number;
}

function chooseAct({ actor, everybody, operations, random }: Choice): Act {
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const calm = operations.filter((each) => !isLiveStream(each));
  const right = random() < 0.7 ? "owner" : pick(rights);
  const victim = random() < 0.5 ? actor : pick(everybody);
  return { operation: pick(calm), actor, right, victim, seed: Math.floor(random() * 2 ** 30) };
}

/** Answers of a request that was not looked at: without a valid key, over a limit, or while the service is busy. */
const untold: ReadonlySet<number> = new Set([401, 429, 503]);

async function judge(system: System, act: Act, performed: Performed, others: readonly Actor[]): Promise<string[]> {
  const { received, sent } = performed;
  const faults: string[] = [];
  const whole = `${sent.url} ${sent.body ?? ""}`;
  const leak = findLeak(act.actor, others, received, whole);
  if (leak) faults.push(leak);
  const needsProof = isGuarded(act.operation);
  if (needsProof && mustBeRefused(act.right, act.operation.service) && received.status !== 401) {
    faults.push(`answered ${received.status}, not 401`);
  }
  if (!namesOthersThing(act, performed) || untold.has(received.status)) return faults;
  const missing = await perform(system, act, false);
  if (untold.has(missing.received.status)) return faults;
  const [one, other] = [performed, missing].map((each) => shapeOf(each.received, each.ids));
  if (one !== other)
    faults.push(`tells another's id from a missing one: ${one?.slice(0, 300)} but ${other?.slice(0, 300)}`);
  return faults;
}

const openPaths =
  /^\/(health|ready|webhooks\/|js\/|api\/event)|\/dashboard\/api\/(sign-|passkey|oidc|forgot|link$|unsubscribe|shared)/;

function isGuarded({ path }: Operation): boolean {
  return !openPaths.test(path);
}

async function downgrade({ pool }: System, actor: Actor): Promise<void> {
  if (actor.known.has("downgraded")) return;
  actor.known.set("downgraded", []);
  await changePlan(pool, actor.accountId, "free");
  // The services hear of it within a second: no comparison may begin on one plan and end on the other.
  await wait(2_000);
}

/** Live streams of accounts, open during a run. */
interface Listeners {
  countEvents(): number;
  findLeaks(): string[];
  close(): void;
}

async function openListeners(system: Pick<System, "url">, actors: readonly Actor[]): Promise<Listeners> {
  const texts = new Map<Actor, string>();
  const streams: IncomingMessage[] = [];
  for (const actor of actors) {
    const request = get(`${system.url("trace-api")}/api/v1/traces/stream`, {
      headers: { Authorization: `Bearer ${actor.traceKey}` },
    });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    streams.push(response);
    response.on("error", () => undefined);
    response.on("data", (chunk: Buffer) => texts.set(actor, (texts.get(actor) ?? "") + chunk.toString()));
  }
  return {
    countEvents: () => [...texts.values()].join("").split("event: trace").length - 1,
    findLeaks: () =>
      actors.flatMap((actor) => {
        const strangers = actors.filter((each) => each !== actor && texts.get(actor)?.includes(each.mark));
        return strangers.map(({ mark }) => `the stream of ${actor.mark} shows ${mark}`);
      }),
    close: () => {
      for (const stream of streams) stream.destroy();
    },
  };
}

const concurrency = 6;

interface CostlyOptions {
  operations: readonly Operation[];
  seed: number;
}

/** Runs work while another account sends requests at the maxima of their limits. */
async function besideCostly(
  system: System,
  { operations, seed }: CostlyOptions,
  run: () => Promise<unknown>,
): Promise<void> {
  const tenant = await createTenant(system, `costly-${seed}`);
  await fillSite(system.url("collector"), tenant);
  const plan = planRequests(planCostly(operations), seed, 20);
  let isOver = false;
  const attack = async () => {
    while (!isOver) {
      const { operation, planned } = plan();
      await send(complete(operation, planned, tenant, system)).catch(() => undefined);
    }
  };
  const attackers = Promise.all(Array.from({ length: concurrency }, attack));
  try {
    await run();
  } finally {
    isOver = true;
    await attackers;
  }
}
