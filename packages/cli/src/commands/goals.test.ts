import { beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

const domain = "goals.example";
const idAndName = (name: string) => ({ id: expect.any(String), name });
let siteId = "";
let otherId = "";
beforeAll(async () => {
  const { id } = await json<{ id: string }>("account", "create", "--email", "me@example.com", "--plan", "pro");
  const create = (of: string) => json<{ id: string }>("site", "create", "--account", id, "--domain", of, "--name", "s");
  ({ id: siteId } = await create(domain));
  ({ id: otherId } = await create("other.example"));
});

const createGoal = (...args: string[]) =>
  json<{ id: string; name: string }>("goal", "create", "--site", siteId, ...args);

const createFunnel = (name: string, ...goals: string[]) =>
  json<{ id: string }>("funnel", "create", "--site", domain, "--name", name, ...goals.flatMap((id) => ["--step", id]));

describe("goal", () => {
  it("create takes an event, a property's value or a page, and answers the id and name alone", async () => {
    const made = [
      await createGoal("--event", "signup"),
      await createGoal("--event", "signup", "--property", "plan=a=b", "--name", "Paid"),
      await createGoal("--page", "/docs/*"),
    ];
    expect(made).toEqual([idAndName("signup"), idAndName("Paid"), idAndName("/docs/*")]);
    const none = { event: null, property: null, value: null, page: null };
    expect(await json("goal", "list", "--site", domain)).toEqual([
      { ...none, ...made[0], event: "signup" },
      { ...none, ...made[1], event: "signup", property: "plan", value: "a=b" },
      { ...none, ...made[2], page: "/docs/*" },
    ]);
    const { stdout } = await run(["goal", "list", "--site", domain]);
    expect(stdout).toMatch(/^ID +NAME +EVENT +PROPERTY +VALUE +PAGE\n/);
  });

  it("delete removes one, of the named site alone", async () => {
    const { id } = await createGoal("--page", "/gone");
    expect(await run(["goal", "delete", id, "--site", otherId])).toMatchObject({ code: 1, stdout: "" });
    expect(await json("goal", "delete", id, "--site", domain)).toEqual({ id, name: "/gone" });
    const { code, stderr } = await run(["goal", "delete", id]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "Goal not found. 'waymark goal list --site ID' shows them.\n",
    });
    expect(await json("goal", "list", "--site", otherId)).toEqual([]);
  });

  it.each([
    [[], 2, "Give --event or --page."],
    [["--event", "a", "--page", "/"], 2, "Give --event or --page."],
    [["--page", "/", "--property", "a=b"], 2, "--property needs --event."],
    [["--event", "a", "--property", "a"], 2, "It must be NAME=VALUE."],
    [["--event", "a".repeat(201)], 1, "event: Must be at most 200 bytes of UTF-8."],
    [["--page", "/", "--name", " "], 1, "name: Must not be blank."],
  ])("create with %j ends with %i", async (args, expected, sentence) => {
    const { code, stdout, stderr } = await run(["goal", "create", "--site", siteId, ...args, "--json"]);
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toContain(sentence);
  });
});

describe("funnel", () => {
  it("create puts goals in order, list shows them, delete leaves them", async () => {
    const [a, b] = [await createGoal("--page", "/a"), await createGoal("--page", "/b")];
    const { id } = await createFunnel("way", b.id, a.id);
    const steps = [
      { goal_id: b.id, name: "/b" },
      { goal_id: a.id, name: "/a" },
    ];
    expect(await json("funnel", "list", "--site", siteId)).toEqual([{ id, name: "way", steps }]);
    expect((await run(["funnel", "list", "--site", siteId])).stdout).toContain("/b > /a");
    const kept = await run(["goal", "delete", a.id]);
    expect(kept).toMatchObject({ code: 1, stderr: "A funnel has this goal as a step. Delete the funnel first.\n" });
    expect(await json("funnel", "delete", id)).toEqual({ id, name: "way" });
    await json("goal", "delete", a.id);
    expect(await json("funnel", "list", "--site", siteId)).toEqual([]);
  });

  it("create names the step that is no goal of the site", async () => {
    const { id } = await createGoal("--page", "/c");
    const args = ["--name", "f", "--step", id];
    const one = await run(["funnel", "create", "--site", siteId, ...args]);
    expect(one).toMatchObject({ code: 1, stderr: "steps: Must be 2 to 8 goals.\n" });
    const foreign = await run(["funnel", "create", "--site", otherId, ...args, "--step", id]);
    expect(foreign).toMatchObject({ code: 1, stderr: `steps: The site has no goal '${id}'.\n` });
    const unknown = await run(["funnel", "delete", id]);
    expect(unknown.stderr).toBe("Funnel not found. 'waymark funnel list --site ID' shows them.\n");
  });
});
