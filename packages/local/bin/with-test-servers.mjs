#!/usr/bin/env node
import { runWithTestServers } from "../dist/test-servers.js";

process.exit(await runWithTestServers(process.argv.slice(2), process.env));
