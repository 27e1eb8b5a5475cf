import type { Page } from "playwright-core";
import { button, click, dialog, heading, type Ids, type PageState, table } from "./page-state.fixture.js";

const choose = (name: string) => async (page: Page) => {
  await page.getByRole("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name }).click();
};

export const tracePages = ({ trace, running }: Ids): Record<string, PageState[]> => ({
  "/traces": [
    { as: "owner", shows: (page) => page.getByText("A trace with a long name") },
    { state: "empty", as: "newcomer", shows: button("Fill in a new key") },
    { state: "at the limit", as: "limited", shows: (page) => page.getByText("New traces are refused") },
    { state: "filtered", as: "member", path: "/traces?status=failed&agent=writer", shows: table("Traces") },
    { state: "labels", as: "owner", path: "/traces?session=chat-7&user=u-42", shows: table("Traces") },
    { state: "without a match", as: "owner", path: "/traces?q=none", shows: (page) => page.getByText("excludes most") },
    {
      state: "account menu",
      as: "owner",
      act: click("Account menu"),
      isPlaced: true,
      shows: (page) => page.getByRole("menu"),
    },
  ],
  "/traces/:id": [
    { as: "owner", path: `/traces/${trace}`, shows: (page) => page.getByText("amount does not add up").first() },
    {
      state: "JSON",
      as: "owner",
      path: `/traces/${trace}`,
      act: async (page) => {
        await page.getByRole("treeitem", { name: "a step" }).click();
        await page.getByRole("tab", { name: "Input" }).click();
      },
      shows: (page) => page.getByText("12345678901234567890"),
    },
    {
      state: "scores",
      as: "owner",
      path: `/traces/${trace}`,
      act: async (page) => {
        await page.getByRole("button", { name: "Scores" }).first().click();
      },
      shows: (page) => page.getByText("It paid twice"),
    },
    { state: "running", as: "member", path: `/traces/${running}`, shows: heading("Still at work") },
    { state: "delete", as: "owner", path: `/traces/${trace}`, act: choose("Delete"), shows: dialog },
    { state: "share", as: "owner", path: `/traces/${trace}`, act: choose("Share"), shows: table("Shared links") },
    {
      state: "keys",
      as: "owner",
      path: `/traces/${trace}`,
      act: async (page) => {
        await page.getByRole("treeitem").first().waitFor();
        await page.keyboard.press("?");
      },
      shows: dialog,
    },
  ],
});

export const comparePages = ({ trace, running, other }: Ids): Record<string, PageState[]> => ({
  "/traces/:id/compare/:other": [
    { as: "owner", path: `/traces/${trace}/compare/${other}`, shows: (page) => page.locator("pre mark").first() },
    {
      state: "one side",
      as: "member",
      path: `/traces/${trace}/compare/${other}`,
      act: (page) => page.getByRole("treeitem", { name: "a step" }).click(),
      shows: (page) => page.getByText("No such span.").first(),
    },
    {
      state: "empty",
      as: "owner",
      path: `/traces/${running}/compare/${running}`,
      shows: (page) => page.getByText("Neither run has spans."),
    },
  ],
});
