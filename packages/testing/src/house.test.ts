import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { findHouseFaults, readFloors, readManifests, readRooms } from "./house.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const floors = new Map(Object.entries({ "apps/a": 3, "apps/b": 3, "packages/c": 2, "packages/d": 1 }));
const room = (path: string, ...needs: string[]) => ({ path, needs });

describe("the house", () => {
  it("stands as apps/README.md draws it", () => {
    const drawn = readFloors(readFileSync(join(root, "apps/README.md"), "utf8"));
    const rooms = readRooms(readManifests(root));
    expect(rooms).toContainEqual({ path: "packages/auth", needs: expect.arrayContaining(["packages/errors"]) });
    expect(findHouseFaults(rooms, drawn)).toEqual([]);
  });

  it("has its floors in a table", () => {
    const text =
      "# A\n\n## The house\n\n| floor | room |\n| - | - |\n| 2 b | `packages/c` |\n|  | `packages/e` |\n| 1 a | `packages/d` |\n\n## B\n";
    expect([...readFloors(text)]).toEqual([
      ["packages/c", 2],
      ["packages/e", 2],
      ["packages/d", 1],
    ]);
  });

  it("allows arrows down and along a floor", () => {
    const rooms = [room("apps/a", "packages/c", "packages/d"), room("apps/b"), room("packages/c"), room("packages/d")];
    expect(findHouseFaults(rooms, floors)).toEqual([]);
  });

  it("allows no arrow up, into an app, or in a circle, and no room beside the drawing", () => {
    const rooms = [
      room("apps/a", "apps/b"),
      room("packages/c", "packages/d"),
      room("packages/d", "packages/c"),
      room("packages/x"),
    ];
    expect(findHouseFaults(rooms, floors)).toEqual([
      "packages/x is not both drawn and there",
      "apps/b is not both drawn and there",
      "apps/a -> apps/b enters an app",
      "packages/c needs itself",
      "packages/d -> packages/c climbs",
      "packages/d needs itself",
    ]);
    const many = Array.from({ length: 20 }, (_, n) => room(`packages/p${n}`));
    expect(findHouseFaults(many, new Map(many.map(({ path }) => [path, 1])))).toEqual(["20 rooms"]);
  });
});
