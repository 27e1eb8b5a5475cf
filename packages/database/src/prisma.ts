import { PrismaPg } from "@prisma/adapter-pg";
import type pg from "pg";
import { Prisma, PrismaClient } from "./generated/prisma/client.js";

export { Prisma, type PrismaClient };

/** The Prisma client on our own pool, for everyday reads and writes; hot statements use the pool itself. */
export function createPrisma(pool: pg.Pool): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: false }) });
}
