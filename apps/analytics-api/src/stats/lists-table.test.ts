import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { listNames, lists } from "@waymark/web-stats/lists";

const readme = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");

it("the README has every list, in the order of packages/web-stats/src/lists", () => {
  const section = readme.split("\n## Lists\n")[1]?.split("\n## ")[0] ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` +\| (.+?) +\| (.+?) +\| `(\w+)` +\|$/gm)].map(([, ...cells]) => cells);
  expect(rows).toEqual(
    listNames.map((name) => {
      const { key, showsPageviews, isInContract, filter } = lists[name];
      const members = [key, "visitors", ...(showsPageviews ? ["pageviews"] : [])];
      return [
        name,
        members.map((member) => `\`${member}\``).join(", "),
        isInContract ? "always" : "on request",
        filter,
      ];
    }),
  );
});
