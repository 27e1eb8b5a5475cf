import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { listNames, lists, otherValue, viewLists } from "./lists.js";

describe("the lists", () => {
  it("keep the dimensions that rows are stored under, each its own", () => {
    const stored = ["page", "source", "country", "channel", "browser", "os", "device", "entry"];
    const dimensions = listNames.map((name) => lists[name].dimension);
    expect(dimensions).toEqual(expect.arrayContaining([...stored, "utm_source", "utm_medium", "utm_campaign"]));
    expect(new Set([...dimensions, "total"]).size).toBe(listNames.length + 1);
    expect(otherValue).toBe("(other)");
  });

  it("count every page view, those of a visit's pages excepted", () => {
    expect(listNames.filter((name) => !viewLists.includes(lists[name]))).toEqual(["entryPages", "exitPages"]);
  });

  it("are named by their table and by no other source", () => {
    const own = Object.values(lists).filter(({ dimension, filter, visitPage }) => filter !== dimension && !visitPage);
    const names = new RegExp(own.map(({ filter }) => filter).join("|"));
    const root = fileURLToPath(new URL("../../../..", import.meta.url));
    const naming = ["apps", "packages"]
      .flatMap((kind) => readdirSync(join(root, kind)).map((name) => join(kind, name)))
      .flatMap((part) => [join(part, "src"), join(part, "web")])
      .filter((folder) => existsSync(join(root, folder)))
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, String(file))),
      )
      .filter(
        (file) =>
          /^(?!.*\/generated\/).*(?<!\.test|\.fixture)\.tsx?$/.test(file) &&
          names.test(readFileSync(join(root, file), "utf8")),
      );
    expect(own.length).toBeGreaterThan(2);
    expect(naming).toEqual(["packages/web-stats/src/lists/lists.ts"]);
  });
});
