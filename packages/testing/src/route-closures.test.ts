import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { readManifests } from "./house.js";
import { readRepository } from "./house-rules.js";
import { measureRouteClosures } from "./route-closures.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Files that the route in the middle reaches, where the routes of a file share them, and those of the widest file: the numbers
 * only fall.
 */
const most = { inTheMiddle: 8, ever: 54 };

describe("what a reader of a route has to follow", () => {
  it("is no more than today", () => {
    const files = measureRouteClosures(readRepository(root), readManifests(root));
    const shares = files.flatMap(({ routes, reached }) => Array.from({ length: routes }, () => reached / routes));
    shares.sort((a, b) => a - b);
    expect(shares.length).toBeGreaterThan(80);
    expect(shares[Math.floor(shares.length / 2)]).toBeLessThanOrEqual(most.inTheMiddle);
    expect(files.at(-1)?.reached).toBeLessThanOrEqual(most.ever);
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
