import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import {
  findDeadPaths,
  findPackedLiterals,
  findPruningBesideLocks,
  findSecondErrorShapes,
  findStyleClashes,
  readRepository,
} from "./house-rules.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const files = readRepository(root);
const fixture = (path: string, text: string) => [{ path, text }];

describe("the rules of the house", () => {
  it("allow no literal that is spread only to pack lines", () => {
    expect(findPackedLiterals(files)).toEqual([]);
    expect(
      findPackedLiterals(fixture("apps/a/src/a.ts", `x = {\n  ..${"."}{ a, b },\n  ...(c && { c }),\n};`)),
    ).toHaveLength(1);
  });

  it("have one place that writes errors", () => {
    expect(findSecondErrorShapes(files)).toEqual([]);
    expect(
      findSecondErrorShapes(fixture("apps/a/src/a.ts", "response.status(418).json({ message: 'no' })")),
    ).toHaveLength(1);
  });

  it("let no statement that locks rows choose partitions by another table", () => {
    expect(findPruningBesideLocks(files)).toEqual([]);
    const sql = (lock: string, id: string) =>
      fixture("apps/a/a.query.ts", `const aSql = \`SELECT FROM b JOIN span s ON s.trace_id = ${id} ${lock}\`;`);
    expect(findPruningBesideLocks(sql("FOR UPDATE OF b", "b.id"))).toEqual(["apps/a/a.query.ts: aSql"]);
    expect([...findPruningBesideLocks(sql("", "b.id")), ...findPruningBesideLocks(sql("FOR UPDATE", "$1"))]).toEqual(
      [],
    );
  });

  it("keep the styles of one page from the others", () => {
    expect(findStyleClashes(files)).toEqual([]);
    const sheet = (path: string, text: string) => ({ path: `apps/a/web/${path}.css`, text });
    const shared = sheet("styles/controls", "@layer ui { .button, .tab:hover { x: y } }");
    const own = "@media (width < 9px) { .list .button, .list.is-open:not(.button, .tab) { x: y } }";
    expect(findStyleClashes([shared, sheet("keys/keys", own)])).toEqual([]);
    const clashing = [shared, sheet("keys/keys", own), sheet("sites/sites", ".list i { x: y }\n.button b { x: y }")];
    expect(findStyleClashes(clashing)).toEqual([
      "apps/a/web/sites/sites.css: .list belongs to apps/a/web/keys",
      "apps/a/web/sites/sites.css: .button b styles every page",
    ]);
  });

  it("let documents name only paths that exist", () => {
    expect(findDeadPaths(files, (path) => existsSync(join(root, path)))).toEqual([]);
    const dead = fixture("docs/a.md", "See `packages/gone/src`, `apps/*/src` and [this](../b.md).");
    expect(findDeadPaths(dead, () => false)).toEqual(["docs/a.md: packages/gone/src", "docs/a.md: b.md"]);
  });
});

describe("Biome's rules", () => {
  it("find each file that breaks one", () => {
    const broken: Record<string, string> = {
      "complexity/noExcessiveLinesPerFunction": `export function long() {\n${"  // a line\n  use();\n".repeat(71)}}\ndeclare function use(): void;\n`,
      "suspicious/noExplicitAny": "export const a = (b: any) => b;\n",
      "style/noNonNullAssertion": "export const a = (b?: string) => b!.length;\n",
      "style/noProcessEnv": "export const a = process.env.HOME;\n",
      "style/noDefaultExport": "export default 1;\n",
      "style/noExcessiveLinesPerFile": "use();\n".repeat(401),
      "suspicious/noImportCycles": 'import type { B } from "./other.js";\nexport type A = B;\n',
    };
    // In the repository Biome would read all of it to find circles.
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "waymark-broken-")));
    try {
      copyFileSync(join(root, ".biome.jsonc"), join(folder, ".biome.jsonc"));
      for (const [rule, text] of Object.entries(broken)) {
        mkdirSync(join(folder, rule), { recursive: true });
        writeFileSync(join(folder, rule, "broken.ts"), text);
        writeFileSync(join(folder, rule, "other.ts"), 'import type { A } from "./broken.js";\nexport type B = A;\n');
      }
      const flags = ["lint", "--vcs-enabled=false", "--reporter=github", "--max-diagnostics=50"];
      const run = spawnSync(join(root, "node_modules/.bin/biome"), flags, { cwd: folder, encoding: "utf8" });
      for (const rule of Object.keys(broken)) {
        expect(run.stdout).toMatch(new RegExp(`lint/${rule},file=\\S*${rule}/broken\\.ts`));
      }
      expect(run.status).not.toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
