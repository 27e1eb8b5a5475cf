#!/usr/bin/env node
// Applies what the database named by DATABASE_URL lacks. Run before a deployment's services start.
import { migrate } from "../dist/index.js";

const url = process.env.DATABASE_URL;
if (!url) {
  console.error("Set DATABASE_URL to the database to migrate, such as postgres://user:password@host:5432/waymark.");
  process.exit(2);
}
try {
  const applied = await migrate(url);
  console.log(applied.length === 0 ? "Nothing to migrate." : `Applied ${applied.join(", ")}.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
