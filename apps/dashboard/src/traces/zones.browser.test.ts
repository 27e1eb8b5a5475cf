import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "./traces.fixture.js";

describeWithChromium("times in the browser's zone", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(zone: string, now: string, starts: Readonly<Record<string, string>>) {
    const accountId = await dashboard.makeAccount();
    for (const [name, startedAt] of Object.entries(starts)) {
      await insertTrace(dashboard.pool, accountId, { name, startedAt });
    }
    const page = await browser.page(await dashboard.signIn(accountId), { zone });
    await page.clock.setFixedTime(now);
    const row = (name: string) => page.locator(".trace-row").filter({ hasText: name });
    const show = async (path: string) => {
      await page.goto(`/dashboard${path}`);
      await page.locator(".trace-row").first().waitFor();
    };
    /** Days and names from the top. */
    const list = () => page.locator("tr.day th, .trace-row a").allTextContents();
    const titleOf = (name: string) => row(name).locator("time").getAttribute("title");
    const asked = () => browser.requests.filter((request) => request.includes("/api/traces?from=")).at(-1);
    return { page, row, show, list, titleOf, asked };
  }

  const morning = { "this morning": "2026-06-09T23:00:00Z", "last night": "2026-06-09T14:30:00Z" };

  it("stand below the days of Tokyo, and say UTC too", async () => {
    const { page, row, show, list, titleOf } = await open("Asia/Tokyo", "2026-06-10T03:57:00Z", morning);
    await show("/traces");
    expect(await list()).toEqual(["Today", "this morning", "Yesterday", "last night"]);
    expect(await titleOf("this morning")).toBe("2026-06-10 08:00:00 UTC+9, 2026-06-09 23:00:00 UTC");
    expect(await row("this morning").locator("time").ariaSnapshot()).toContain("2026-06-09 23:00:00 UTC");
    await row("this morning").getByRole("link").click();
    await page.getByText("2026-06-10 08:00:00 UTC+9").waitFor();
  });

  it("are UTC where a person chooses it, also after a reload", async () => {
    const { page, show, list, titleOf } = await open("Asia/Tokyo", "2026-06-10T03:57:00Z", morning);
    await page.goto("/dashboard/settings");
    const zones = page.getByRole("group", { name: "Times" });
    expect(await zones.getByLabel("The browser's zone (Asia/Tokyo)").isChecked()).toBe(true);
    await zones.getByLabel("UTC").check();
    await show("/traces");
    expect(await list()).toEqual(["Yesterday", "this morning", "last night"]);
    expect(await titleOf("this morning")).toBe("2026-06-09 23:00:00 UTC");
    await page.goto("/dashboard/traces?from=2026-06-10&to=2026-06-10");
    await page.getByText("No trace matches").waitFor();
  });

  it("are another zone's where a person chooses one by keyboard, also after a reload", async () => {
    const { page, show, list, titleOf, asked } = await open("Europe/Berlin", "2026-06-10T03:57:00Z", morning);
    await page.goto("/dashboard/settings");
    const zones = page.getByRole("group", { name: "Times" });
    await zones.getByLabel("The browser's zone (Europe/Berlin)").press("ArrowDown");
    await zones.getByLabel("UTC").press("ArrowDown");
    const other = page.getByRole("combobox", { name: "Zone of times" });
    expect(await other.inputValue()).toBe("Europe/Berlin");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Asia/Kat");
    expect(await other.inputValue()).toMatch(/^Asia\/Kath?mandu$/);
    expect(await browser.findings(page)).toEqual([]);
    await show("/traces?from=2026-06-10&to=2026-06-10");
    expect(await list()).toEqual(["Today", "this morning"]);
    expect(asked()).toContain("from=2026-06-09T18%3A15%3A00.000Z&to=2026-06-10T18%3A15%3A00.000Z");
    expect(await titleOf("this morning")).toBe("2026-06-10 04:45:00 UTC+5:45, 2026-06-09 23:00:00 UTC");
    await page.getByText(/^Asia\/Kath?mandu days/).waitFor();
    await page.goto("/dashboard/settings");
    expect(await zones.getByLabel("Another zone").isChecked()).toBe(true);
  });

  it("bound the dates of a range in Tokyo, and the page names the zone", async () => {
    const { page, show, list, asked } = await open("Asia/Tokyo", "2026-06-10T03:57:00Z", morning);
    await show("/traces?from=2026-06-10&to=2026-06-10");
    expect(await list()).toEqual(["Today", "this morning"]);
    expect(asked()).toContain("from=2026-06-09T15%3A00%3A00.000Z&to=2026-06-10T15%3A00%3A00.000Z");
    await page.getByText("Asia/Tokyo days").waitFor();
  });

  it.each([
    ["end of summer time", "2026-11-01", "from=2026-11-01T04%3A00%3A00.000Z&to=2026-11-02T05%3A00%3A00.000Z"],
    ["begin of summer time", "2026-03-08", "from=2026-03-08T05%3A00%3A00.000Z&to=2026-03-09T04%3A00%3A00.000Z"],
  ])("have the day of the %s in New York at its length", async (_title, day, range) => {
    const starts = { "of the day": `${day}T17:00:00Z`, "before it": `${day}T03:59:59Z` };
    const { show, list, asked } = await open("America/New_York", `${day}T18:00:00Z`, starts);
    await show(`/traces?from=${day}&to=${day}`);
    expect(await list()).toEqual(["Today", "of the day"]);
    expect(asked()).toContain(range);
  });

  it("tell the hour that New York has twice apart", async () => {
    const starts = { first: "2026-11-01T05:30:00Z", second: "2026-11-01T06:30:00Z" };
    const { show, list, titleOf } = await open("America/New_York", "2026-11-02T05:30:00Z", starts);
    await show("/traces");
    expect(await list()).toEqual(["Yesterday", "second", "first"]);
    expect(await titleOf("first")).toBe("2026-11-01 01:30:00 UTC−4, 2026-11-01 05:30:00 UTC");
    expect(await titleOf("second")).toBe("2026-11-01 01:30:00 UTC−5, 2026-11-01 06:30:00 UTC");
  });

  it("are said once where the browser's zone is UTC", async () => {
    const { page, row, show, list, titleOf } = await open("UTC", "2026-06-10T03:57:00Z", morning);
    await show("/traces");
    expect(await list()).toEqual(["Yesterday", "this morning", "last night"]);
    expect(await titleOf("this morning")).toBe("2026-06-09 23:00:00 UTC");
    await row("this morning").getByRole("link").click();
    await page.getByText("2026-06-09 23:00:00 UTC", { exact: true }).waitFor();
  });
});
