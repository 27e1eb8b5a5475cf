import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { readManifests } from "./house.js";
import { readRepository } from "./house-rules.js";
import { measureRouteClosures } from "./route-closures.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Files that the route in the middle reaches, and the widest one: the numbers only fall. Twelve are wanted in the middle. */
const most = { inTheMiddle: 19, ever: 53 };

describe("what a reader of a route has to follow", () => {
  it("is no more than today", () => {
    const files = measureRouteClosures(readRepository(root), readManifests(root));
    const reached = files.flatMap((file) => Array.from({ length: file.routes }, () => file.reached));
    expect(reached.length).toBeGreaterThan(80);
    expect(reached[Math.floor(reached.length / 2)]).toBeLessThanOrEqual(most.inTheMiddle);
    expect(reached.at(-1)).toBeLessThanOrEqual(most.ever);
  });

  it("counts files behind files and names of a package, and no types, indexes or others' names", () => {
    const files = Object.entries({
      "apps/a/src/get.route.ts":
        'import { p } from "@waymark/p/part";\nimport type { T } from "./t.js";\nimport "./b.js";',
      "apps/a/src/b.ts": 'import {\n  c,\n} from "./c.js";\nexport { d } from "./get.route.js";',
      "apps/a/src/c.ts": 'const late = () => import("./late.js");',
      "apps/a/src/late.ts": 'import { createServer } from "node:http";',
      "apps/a/src/t.ts": "",
      "apps/a/src/none.route.ts": 'route({ path: "/a" });\nviewerRoute("get", "/b", {});',
      "packages/p/src/part/index.ts": 'export { type T, p } from "./x.js";\nexport { y } from "./y.js";',
      "packages/p/src/part/x.ts": "",
      "packages/p/src/part/y.ts": "",
    }).map(([path, text]) => ({ path, text }));
    const manifest = {
      path: "packages/p",
      name: "@waymark/p",
      exports: { "./part": { source: "./src/part/index.ts" } },
    };
    expect(measureRouteClosures(files, [manifest])).toEqual([
      { path: "apps/a/src/none.route.ts", routes: 2, reached: 0 },
      { path: "apps/a/src/get.route.ts", routes: 1, reached: 4 },
    ]);
  });
});
