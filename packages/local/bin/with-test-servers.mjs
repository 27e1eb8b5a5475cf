#!/usr/bin/env node
// with-test-servers.mjs COMMAND...: runs a command beside servers of its own, from the sources; Node needs --conditions=source.
import { register } from "tsx/esm/api";

register();
const { runWithTestServers } = await import("../src/test-servers.ts");

process.exit(await runWithTestServers(process.argv.slice(2), process.env));
