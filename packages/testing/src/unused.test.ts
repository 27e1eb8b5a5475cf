import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const manifest = (name: string, more: object) => JSON.stringify({ name: `@waymark/${name}`, type: "module", ...more });
const tsconfig = JSON.stringify({ compilerOptions: { rootDir: "src", outDir: "dist" }, include: ["src"] });

/** A workspace with unused things in its app and its package. */
const wasteful = {
  "package.json": manifest("root", { private: true }),
  "pnpm-workspace.yaml": "packages: [apps/*, packages/*]\n",
  "apps/app/package.json": manifest("app", { dependencies: { "@waymark/parts": "*", "idle-dependency": "1.0.0" } }),
  "apps/app/tsconfig.build.json": tsconfig,
  "apps/app/src/main.ts": 'import { used } from "@waymark/parts";\nused();\n',
  "apps/app/src/unused.ts": "export const alone = 1;\n",
  "packages/parts/package.json": manifest("parts", { exports: { ".": "./dist/index.js" } }),
  "packages/parts/tsconfig.build.json": tsconfig,
  "packages/parts/src/index.ts": 'export { idle, used } from "./parts.js";\n',
  "packages/parts/src/parts.ts":
    "export const used = () => tested();\nexport const idle = 1;\nexport const tested = () => 1;\nexport type IdleType = 1;\n",
  "packages/parts/src/parts.test.ts": 'import { tested } from "./parts.js";\ntested();\n',
};

it("knip, as `pnpm lint` runs it, finds unused files, dependencies, exports and types", () => {
  const folder = mkdtempSync(join(tmpdir(), "waymark-unused-"));
  try {
    for (const [path, text] of Object.entries(wasteful)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    mkdirSync(join(folder, "apps/app/node_modules/@waymark"), { recursive: true });
    symlinkSync("../../../../packages/parts", join(folder, "apps/app/node_modules/@waymark/parts"));
    copyFileSync(join(root, ".knip.jsonc"), join(folder, ".knip.jsonc"));
    const flags = ["--tsConfig", "tsconfig.build.json", "--no-config-hints"];
    const run = spawnSync(join(root, "node_modules/.bin/knip"), flags, { cwd: folder, encoding: "utf8" });
    const found = run.stdout.split("\n").map((line) => line.split(/\s+/)[0]);
    expect(found.filter((word) => word && word !== "Unused")).toEqual([
      "apps/app/src/unused.ts",
      "idle-dependency",
      "idle",
      "idle",
      "IdleType",
    ]);
    expect(run.status).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
