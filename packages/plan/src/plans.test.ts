import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { plans, remainingBytes, remainingTraces } from "./plans.js";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");

/** The cells of the README's row with this name: Free, then Pro. */
function rowOf(name: string): string[] {
  const line = readme.split("\n").find((each) => each.startsWith(`| ${name} `)) ?? "";
  return line
    .split("|")
    .slice(2, 4)
    .map((cell) => cell.replace(/\[|\]\([^)]*\)/g, "").trim());
}

describe("the plans", () => {
  const both = [plans.free, plans.pro];
  const yesOrNo = (isYes: boolean) => (isYes ? "yes" : "no");

  it.each([
    ["traces per UTC month", both.map(({ tracesPerMonth }) => tracesPerMonth.toLocaleString("en-US"))],
    [
      "stored per UTC month",
      both.map(({ bytesPerMonth }) =>
        bytesPerMonth < 1e9 ? `${bytesPerMonth / 1e6} MB` : `${bytesPerMonth / 1e9} GB`,
      ),
    ],
    ["agents", both.map(({ agents }) => agents?.toString() ?? "any number")],
    ["retention", both.map(({ retentionDays }) => `${retentionDays} days`)],
    ["mails and channels", [yesOrNo(plans.free.alerts), `${yesOrNo(plans.pro.alerts)}, within limits`]],
    ["analytics API", both.map(({ statisticsApi }) => yesOrNo(statisticsApi))],
  ])("are those of the README: %s", (name, cells) => expect(rowOf(name)).toEqual(cells));

  it("cost what the README says", () => {
    expect(plans.free.priceUsdPerMonth).toBe(0);
    expect(readme).toContain(`| Pro, ${plans.pro.priceUsdPerMonth} USD a month `);
  });

  it("leave no fewer than no traces and bytes", () => {
    expect(remainingTraces({ plan: plans.free, used: 999 })).toBe(1);
    expect(remainingTraces({ plan: plans.free, used: 1_200 })).toBe(0);
    expect(remainingBytes({ plan: plans.free, usedBytes: 255_999_999 })).toBe(1);
    expect(remainingBytes({ plan: plans.free, usedBytes: 300_000_000 })).toBe(0);
  });
});
