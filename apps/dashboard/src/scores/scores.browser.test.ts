import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { addTrace } from "../trace/trace.fixture.js";
import { useTraceApi } from "../traces/trace-api.fixture.js";

describeWithChromium("scores in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const api = useTraceApi(dashboard);

  async function open() {
    const accountId = await dashboard.makeAccount();
    const { id, spanIds } = await addTrace(dashboard.pool, accountId, { spans: [{ name: "answer", from: 0, to: 9 }] });
    const client = await api.client(accountId);
    const page = await browser.page(await dashboard.signIn(accountId, "member"));
    await page.goto(`/dashboard/traces/${id}`);
    await page.getByRole("button", { name: "Score" }).nth(1).waitFor();
    const stored = async () => (await client.get(`/api/v1/traces/${id}?include=scores`).expect(200)).body.scores;
    return { page, id, spanIds, client, stored };
  }

  it("are given to a trace by keyboard, and are the API's", async () => {
    const { page, stored } = await open();
    await page.keyboard.press("s");
    const dialog = page.getByRole("dialog", { name: "Scores of the trace" });
    await dialog.getByRole("radio", { name: "Thumbs up", checked: true }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("It paid twice");
    await page.keyboard.press("Enter");
    const list = page.getByRole("list", { name: "Scores of the trace" });
    await list.getByText("helpful Thumbs down").waitFor();
    expect(await dialog.count()).toBe(0);
    const score = { name: "helpful", value: false, comment: "It paid twice", source: "person", span_id: null };
    expect(await stored()).toMatchObject([score]);
  });

  it("are given to a span as a number, shown with their source, and removed", async () => {
    const { page, id, spanIds, client, stored } = await open();
    const sent = { name: "tone", value: "kind", comment: "by a judge" };
    await client.post(`/api/v1/traces/${id}/spans/${spanIds[0]}/scores`, sent).expect(201);
    await page.reload();
    const details = page.getByRole("region", { name: "Span details" });
    await details.getByRole("button", { name: "Scores" }).click();
    const dialog = page.getByRole("dialog", { name: "Scores of answer" });
    const rows = dialog.getByRole("list", { name: "Scores" }).getByRole("listitem");
    await rows.filter({ hasText: /tone: kind.*by a judge.*By the API/ }).waitFor();
    expect(await dialog.getByRole("button", { name: "Remove" }).count()).toBe(0);
    await dialog.getByRole("radio", { name: "A number" }).click();
    await dialog.getByRole("textbox", { name: "Number" }).fill("high");
    await dialog.getByRole("button", { name: "Add score" }).click();
    await dialog.getByText("Must be a number").waitFor();
    await dialog.getByRole("textbox", { name: "Number" }).fill("0.75");
    await dialog.getByRole("textbox", { name: "Name" }).fill("accuracy");
    await dialog.getByRole("button", { name: "Add score" }).click();
    await details.getByRole("list", { name: "Scores of the span" }).getByText("accuracy 0.75").waitFor();
    expect((await stored())[1]).toMatchObject({ name: "accuracy", value: 0.75, source: "person", span_id: spanIds[0] });
    await details.getByRole("button", { name: "Scores" }).click();
    await rows
      .filter({ hasText: /accuracy: 0.75.*By A member/ })
      .getByRole("button", { name: "Remove" })
      .click();
    await rows.filter({ hasText: "accuracy" }).waitFor({ state: "detached" });
    expect(await stored()).toHaveLength(1);
  });
});
