import { randomUUID } from "node:crypto";
import { insertModelDay } from "../costs/model-days.fixture.js";
import type { SignedIn, TestDashboard } from "../dashboard.fixture.js";
import { insertCosts, insertMachines, makeSite } from "../statistics/statistics.fixture.js";
import { addTrace, type NewSpan } from "../trace/trace.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import { conversationPages, insertLabelled } from "./conversation-states.fixture.js";
import { button, click, dialog, heading, type Ids, type PageState, table, type Viewers } from "./page-state.fixture.js";
import { sharedPages, shareSome } from "./shared-states.fixture.js";
import { comparePages, tracePages } from "./trace-states.fixture.js";

const spans: readonly NewSpan[] = [
  { name: "model call: gpt-4o", from: 0, to: 2_000, output: '[{"role":"assistant","content":"I will book."}]' },
  {
    name: "tool: book_reservation",
    parent: 0,
    status: "error",
    from: 900,
    to: 943,
    error: "amount does not add up",
    input: '{"amount": 120}',
  },
  { name: "a step", from: 3_000, to: 9_000, input: '{"n": 12345678901234567890, "list": [1, 2, {"a": null}]}' },
  { name: "model call: gpt-4o", from: 60_000, to: 62_000 },
];

const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

function visits(now: number) {
  return Array.from({ length: 60 }, (_, n) => {
    const event = n % 6 === 5 ? { type: "event", name: "signup", props: { plan: `p${n % 4}` } } : { type: "pageview" };
    return {
      ...event,
      ts: new Date(now - (n % 30) * 86_400_000 - n * 1_000).toISOString(),
      visitor: `visitor-${n % 17}`,
      path: `/page-${n % 12}${n % 5 ? "" : "?utm_source=mail&utm_medium=email&utm_campaign=spring"}`,
      referrer: n % 2 ? "https://www.google.com/" : n % 4 ? "https://chatgpt.com/" : "",
      country: ["NL", "DE", "US"][n % 3],
      user_agent: userAgent,
    };
  });
}

async function fillAccount(dashboard: TestDashboard, owner: SignedIn): Promise<Ids> {
  const { pool } = dashboard;
  const { accountId } = owner;
  const error = "Command exited with 1 ".repeat(9);
  const name = "A trace with a long name of words and one_word_without_any_space_in_it_at_all_which_cannot_break";
  await insertTrace(pool, accountId, { name, status: "error", error, isMailed: true });
  await insertTrace(pool, accountId, {
    status: "timeout",
    ago: 200_000,
    agent: "an-agent-with-a-very-long-name-indeed",
  });
  await insertTrace(pool, accountId, { ago: 9_000_000 });
  await insertLabelled(pool, accountId);
  const running = await insertTrace(pool, accountId, { name: "Still at work", status: "running", ago: 60 });
  const { id: trace } = await addTrace(pool, accountId, { spans });
  await owner.post(`/traces/${trace}/scores`, { name: "helpful", value: false, comment: "It paid twice" }).expect(201);
  const succeeded = spans
    .slice(0, 2)
    .map((span) => ({ ...span, status: "ok" as const, error: null, input: '{"amount": 75}' }));
  const { id: compared } = await addTrace(pool, accountId, { spans: succeeded, status: "success" });
  for (const [names, values] of [
    ["failed_at, last_error, attempts", "now(), 'The address does not exist', 20"],
    ["held_until", "now() + interval '1 hour'"],
    ["due_at", "now()"],
  ]) {
    const insert = `INSERT INTO alert (account_id, id, trace_id, status, ${names}) VALUES ($1, $2, $3, 'error', ${values})`;
    await pool.query(insert, [accountId, randomUUID(), trace]);
  }
  await insertModelDay(pool, accountId, { ago: 2, cost: "12.5", input: 5_000_000 });
  await insertModelDay(pool, accountId, {
    agent: "an-agent-with-a-very-long-name-indeed",
    model: "house-model",
    cost: null,
  });
  const other = await dashboard.signIn(await dashboard.makeAccount());
  await other.post("/sites", { domain: "taken.example", name: "Theirs" }).expect(201);
  const { body: unproven } = await owner.post("/sites", { domain: "taken.example", name: "Unproven" }).expect(201);
  const { body: unseen } = await owner.post("/sites", { domain: "unseen.example", name: "Unseen" }).expect(201);
  const site = await makeSite(dashboard, { accountId, domain: "busy.example", lines: visits(Date.now()) });
  const { body: goal } = await owner.post(`/sites/${site}/goals`, { page: "/page-1*" }).expect(201);
  const steps = [goal.id, (await owner.post(`/sites/${site}/goals`, { event: "signup" }).expect(201)).body.id];
  await owner.post(`/sites/${site}/funnels`, { name: "To the sign-up", steps }).expect(201);
  await insertMachines(pool, site);
  await insertCosts(pool, site);
  await owner.post("/keys", { name: "laptop", service: "trace" }).expect(201);
  await owner.post("/keys", { name: "reports", service: "analytics" }).expect(201);
  await owner.post("/people", { email: "grace@example.com", role: "member" }).expect(201);
  await owner.post("/people", { email: other.email, role: "member" }).expect(201);
  const tokens = (await dashboard.takeMails()).map(({ text }) => /\/dashboard\/link\/([\w-]+)/.exec(text)?.[1] ?? "");
  const [linkToken = "", knownToken = ""] = tokens.slice(-2);
  return {
    ...(await shareSome(owner, { site, trace })),
    trace,
    running,
    other: compared,
    site,
    unseenSite: unseen.id,
    unprovenSite: unproven.id,
    agent: "writer",
    failure: (await owner.get("/failures").expect(200)).body.failures.at(-1).id,
    linkToken,
    knownToken,
  };
}

/** Makes the people and one set of data. The operator's address is in `OPERATORS`. */
export async function makeViewers(dashboard: TestDashboard, operatorEmail: string) {
  const accountId = await dashboard.makeAccount();
  const owner = await dashboard.signIn(accountId);
  const member = await dashboard.signIn(accountId, "member");
  const newcomer = await dashboard.signIn(await dashboard.makeAccount("free"));
  const limited = await dashboard.signIn(await dashboard.makeAccount("free"));
  const use = "INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, date_trunc('month', now())::date, 1000)";
  await dashboard.pool.query(use, [limited.accountId]);
  await insertTrace(dashboard.pool, limited.accountId);
  const operator = await dashboard.signIn(await dashboard.makeAccount());
  await dashboard.pool.query("UPDATE person SET email = $2 WHERE id = $1", [operator.personId, operatorEmail]);
  const ids = await fillAccount(dashboard, owner);
  return { viewers: { owner, member, newcomer, limited, operator } satisfies Viewers, ids };
}

const agentPages = ({ agent }: Ids): Record<string, PageState[]> => ({
  "/agents": [
    { as: "owner", shows: table("Agents") },
    { state: "empty", as: "newcomer", shows: heading("No agents yet") },
  ],
  "/agents/:id": [
    { as: "owner", path: `/agents/${agent}`, shows: table("Open failures") },
    { state: "today", as: "member", path: `/agents/${agent}?days=1`, shows: table("Slowest traces") },
    { state: "missing", as: "newcomer", path: `/agents/${agent}`, shows: heading("Agent not found") },
  ],
  "/alerts": [
    { as: "owner", shows: (page) => button("Send again")(page).first() },
    { state: "empty", as: "newcomer", shows: heading("No alerts yet") },
    { state: "filtered", as: "member", path: "/alerts?state=failed", shows: table("Alerts") },
  ],
});

const insightPages = ({ failure }: Ids): Record<string, PageState[]> => ({
  "/failures/:id": [
    { as: "owner", path: `/failures/${failure}`, shows: table("Traces") },
    { state: "mute", as: "member", path: `/failures/${failure}`, act: click("Mute"), shows: dialog },
    {
      state: "today, resolved",
      as: "member",
      path: `/failures/${failure}?days=1`,
      act: click("Resolve"),
      shows: button("Open again"),
    },
    { state: "missing", as: "newcomer", path: `/failures/${failure}`, shows: heading("Failure not found") },
  ],
  "/failures": [
    { as: "owner", shows: table("Failures") },
    { state: "mute", as: "owner", act: click("Mute"), shows: dialog },
    {
      state: "muted",
      as: "owner",
      act: async (page) => {
        await click("Mute")(page);
        await dialog(page).getByRole("button", { name: "Mute", exact: true }).click();
      },
      shows: table("Muted failures"),
    },
    { state: "without a match", as: "member", path: "/failures?days=7&agent=nobody", shows: heading(/^No failures/) },
    { state: "resolved", as: "owner", path: "/failures?state=resolved", shows: heading(/^Failures$/) },
    { state: "empty", as: "newcomer", shows: heading("No failures in these days") },
  ],
  "/channels": [
    { as: "owner", shows: table("Channels") },
    {
      state: "refused form",
      as: "owner",
      act: async (page) => {
        await click("Add channel")(page);
        await page.getByRole("textbox", { name: "Address" }).fill("http://127.0.0.1/hook");
        await click("Add")(page);
      },
      shows: (page) => page.getByText("inside a private network"),
    },
    {
      state: "new secret",
      as: "owner",
      act: async (page) => {
        await click("Add channel")(page);
        await page.getByRole("textbox", { name: "Address" }).fill("https://example.com/hook");
        await click("Add")(page);
        await click("Done")(page);
      },
      shows: (page) => page.getByText("Copied?"),
    },
    { state: "delete", as: "owner", act: click("Delete"), shows: dialog },
    { state: "rule", as: "owner", act: click("Add rule"), shows: dialog },
    { state: "member", as: "member", shows: (page) => page.getByText("An owner of the account") },
    { state: "free", as: "newcomer", shows: (page) => page.getByText("Channels need the Pro plan") },
  ],
  "/costs": [
    { as: "owner", shows: table("Models") },
    { state: "of an agent", as: "member", path: "/costs?days=7&agent=writer", shows: table("Days") },
    {
      state: "without a price",
      as: "member",
      path: "/costs?agent=an-agent-with-a-very-long-name-indeed",
      shows: (page) => page.getByText("No model of these days has a known price"),
    },
    { state: "empty", as: "newcomer", shows: heading("No model calls in these days") },
  ],
});

const sitePages = ({ site, unseenSite }: Ids): Record<string, PageState[]> => ({
  "/sites": [
    { as: "owner", shows: table("Sites") },
    { state: "empty", as: "newcomer", shows: heading("No sites yet") },
    { state: "form", as: "owner", act: click("Add site"), shows: dialog },
    {
      state: "refused form",
      as: "owner",
      act: async (page) => {
        await click("Add site")(page);
        await page.getByRole("textbox", { name: "Domain" }).fill("no domain");
        await click("Add")(page);
      },
      shows: (page) => page.getByText("is not a domain"),
    },
  ],
  "/sites/:id": [
    { as: "owner", path: `/sites/${site}`, shows: table("To the sign-up") },
    { state: "funnel", as: "member", path: `/sites/${site}`, act: click("Add funnel"), shows: dialog },
    {
      state: "today",
      as: "member",
      path: `/sites/${site}?range=today`,
      shows: (page) => page.getByRole("region", { name: "Pages" }),
    },
    {
      state: "empty",
      as: "owner",
      path: `/sites/${unseenSite}`,
      shows: (page) => page.getByText("Waiting for the first visit"),
    },
    { state: "all rows", as: "owner", path: `/sites/${site}`, act: click("All pages"), shows: dialog },
    {
      state: "filtered",
      as: "owner",
      path: `/sites/${site}?range=30d&filters=country:is:NL;page:contains:/page;event:is:signup`,
      shows: button("Remove filter Country is NL"),
    },
    {
      state: "wrong filters",
      as: "owner",
      path: `/sites/${site}?filters=country`,
      shows: (page) => page.getByText("Must have one of the operators"),
    },
  ],
  "/sites/:id/events": [
    { as: "owner", path: `/sites/${site}/events`, shows: table("Event names") },
    {
      state: "filtered",
      as: "owner",
      path: `/sites/${site}/events?range=30d&filters=event:is:signup`,
      shows: button("Filter by this event"),
    },
    {
      state: "empty",
      as: "owner",
      path: `/sites/${unseenSite}/events`,
      shows: heading("No custom events in this range"),
    },
  ],
  "/sites/:id/ai": [
    { as: "owner", path: `/sites/${site}/ai`, shows: table("Machines") },
    { state: "today", as: "member", path: `/sites/${site}/ai?range=today`, shows: table("Engines") },
    {
      state: "filtered",
      as: "owner",
      path: `/sites/${site}/ai?filters=page:contains:page;source:is:ChatGPT`,
      shows: table("Machines"),
    },
    {
      state: "empty",
      as: "owner",
      path: `/sites/${unseenSite}/ai`,
      shows: heading("No machine read the site in these days"),
    },
  ],
});

const siteSettingsPages = ({ site, unseenSite, unprovenSite }: Ids): Record<string, PageState[]> => ({
  "/sites/:id/settings": [
    { as: "owner", path: `/sites/${site}/settings`, shows: button("Delete site") },
    { state: "unproven", as: "owner", path: `/sites/${unprovenSite}/settings`, shows: button("Check the proof") },
    {
      state: "member",
      as: "member",
      path: `/sites/${unseenSite}/settings`,
      shows: (page) => page.getByText("Waiting for the first visit"),
    },
    { state: "delete", as: "owner", path: `/sites/${site}/settings`, act: click("Delete site"), shows: dialog },
    { state: "share", as: "owner", path: `/sites/${site}/settings`, act: click("Share"), shows: dialog },
  ],
});

const accountPages: Record<string, PageState[]> = {
  "/keys": [
    { as: "owner", shows: (page) => button("Revoke")(page).first() },
    { state: "empty", as: "newcomer", shows: heading("No keys yet") },
    { state: "form", as: "limited", act: click("Create key"), shows: (page) => page.getByText(/needs Pro/) },
    {
      state: "new key",
      as: "member",
      act: async (page) => {
        await click("Create key")(page);
        await page.getByRole("textbox", { name: "Name" }).fill("a key");
        await click("Create")(page);
        await click("Done")(page);
      },
      shows: (page) => page.getByText("Copied?"),
    },
    { state: "revoke", as: "owner", act: click("Revoke"), shows: dialog },
  ],
  "/team": [
    { as: "owner", shows: table("Invitations") },
    { state: "member", as: "member", shows: button("Leave") },
    { state: "invite", as: "owner", act: click("Invite"), shows: dialog },
    { state: "remove", as: "owner", act: click("Remove"), shows: dialog },
  ],
  "/settings": [
    { as: "owner", shows: table("Sessions") },
    { state: "member", as: "member", shows: table("Sessions") },
  ],
  "/billing": [
    { as: "owner", shows: table("Plans") },
    { state: "free", as: "limited", shows: button("Upgrade to Pro") },
    { state: "upgrade", as: "newcomer", act: click("Upgrade to Pro"), shows: dialog },
    { state: "member", as: "member", shows: (page) => page.getByText("An owner of the account") },
    { state: "operator", as: "operator", act: click("Switch to Free"), shows: dialog },
  ],
};

const openPages = ({ linkToken, knownToken }: Ids): Record<string, PageState[]> => ({
  "/": [
    { as: "owner", shows: table("Sites") },
    { state: "empty", as: "newcomer", shows: heading("What do you want to see first?") },
  ],
  "/sign-in": [
    { shows: button("Sign in") },
    {
      state: "refused",
      act: async (page) => {
        await page.getByRole("textbox", { name: "Email" }).fill("nobody@example.com");
        await page.getByRole("textbox", { name: "Password" }).fill("wrong password");
        await click("Sign in")(page);
      },
      shows: (page) => page.getByRole("alert"),
    },
  ],
  "/sign-up": [{ shows: button("Create account") }],
  "/forgot": [
    { shows: heading(/password/i) },
    {
      state: "sent",
      act: async (page) => {
        await page.getByRole("textbox", { name: "Email" }).fill("nobody@example.com");
        await page.keyboard.press("Enter");
      },
      shows: (page) => page.getByText("is on its way"),
    },
  ],
  "/link/:token": [
    { path: `/link/${linkToken}`, shows: button("Continue") },
    { state: "known person", path: `/link/${knownToken}`, shows: button("Sign in and join") },
    { state: "used up", path: "/link/none", shows: heading(/link/i) },
  ],
});

/** The states of every page of `web/pages.ts`. */
export function pageStates(ids: Ids): Readonly<Record<string, readonly PageState[]>> {
  return {
    ...openPages(ids),
    ...tracePages(ids),
    ...comparePages(ids),
    ...agentPages(ids),
    ...insightPages(ids),
    ...conversationPages,
    ...sitePages(ids),
    ...siteSettingsPages(ids),
    ...sharedPages(ids),
    ...accountPages,
  };
}
