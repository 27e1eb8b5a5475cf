import { writeFileSync } from "node:fs";

// The package's own type is `module`; Node and TypeScript take the nearest package.json's word for it.
writeFileSync(new URL("../dist/cjs/package.json", import.meta.url), '{ "type": "commonjs" }\n');
