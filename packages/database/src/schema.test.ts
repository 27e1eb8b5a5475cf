import { readFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import internals from "@prisma/internals";
import { useDatabase } from "@waymark/testing";
import { migrationsFolder } from "./migrate.js";

interface Column {
  table: string;
  column: string;
  type: string;
  nullable: boolean;
}

const sqlTypes: Record<string, string> = {
  String: "text",
  Int: "integer",
  Float: "double precision",
  BigInt: "bigint",
  Boolean: "boolean",
  Bytes: "bytea",
  "String@Uuid": "uuid",
  "DateTime@Timestamptz": "timestamp with time zone",
  "DateTime@Date": "date",
  "Decimal@Decimal": "numeric",
  "Int@SmallInt": "smallint",
  "Json@Json": "json",
  "BigInt[]": "ARRAY",
  "Bytes[]": "ARRAY",
  "String[]": "ARRAY",
};

/** The tables except partitions, which come and go, and the view of them. */
const ownTables = `table_schema = 'public' AND table_name <> '_prisma_migrations'
  AND NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(table_name) AND (relispartition OR relkind = 'v'))`;

async function readSchema() {
  const datamodel = await readFile(`${migrationsFolder}../schema.prisma`, "utf8");
  const { datamodel: parsed } = await internals.getDMMF({ datamodel });
  return parsed.models;
}

function typeNameOf(field: {
  type: string;
  isList: boolean;
  nativeType?: readonly unknown[] | null | undefined;
}): string {
  if (field.isList) return `${field.type}[]`;
  return field.nativeType ? `${field.type}@${field.nativeType[0]}` : field.type;
}

describe("prisma/schema.prisma", () => {
  const database = useDatabase();

  it("has the columns of the migrated database, with their types and nullability", async () => {
    const models = await readSchema();
    const declared: Column[] = models.flatMap((model) =>
      model.fields
        .filter((field) => field.kind === "scalar")
        .map((field) => ({
          table: model.dbName ?? model.name,
          column: field.dbName ?? field.name,
          type: sqlTypes[typeNameOf(field)] ?? field.type,
          nullable: !field.isRequired,
        })),
    );
    const { rows } = await database.pool.query<Column>(
      `SELECT table_name AS table, column_name AS column, data_type AS type, is_nullable = 'YES' AS nullable
       FROM information_schema.columns WHERE ${ownTables}`,
    );
    const sorted = (columns: Column[]) => columns.map((column) => JSON.stringify({ ...column })).sort();
    const inOrder = ({ table, column, type, nullable }: Column) => ({ table, column, type, nullable });
    expect(sorted(declared.map(inOrder))).toEqual(sorted(rows.map(inOrder)));
    expect(declared.length).toBeGreaterThan(50);
  });

  it("has the primary keys and unique indexes of the migrated database, in their order, but for partial ones, which Prisma has no word for", async () => {
    const models = await readSchema();
    const declared = models.flatMap((model) => {
      const table = model.dbName ?? model.name;
      const columnOf = (name: string) => model.fields.find((field) => field.name === name)?.dbName ?? name;
      const primary = model.primaryKey?.fields ?? model.fields.filter((field) => field.isId).map((field) => field.name);
      const unique = model.fields
        .filter((field) => field.isUnique)
        .map((field) => `${table} unique ${columnOf(field.name)}`);
      const uniqueTogether = model.uniqueFields.map((fields) => `${table} unique ${fields.map(columnOf).join(",")}`);
      return [`${table} primary ${primary.map(columnOf).join(",")}`, ...unique, ...uniqueTogether];
    });
    const { rows } = await database.pool.query<{ line: string }>(
      `SELECT c.relname || CASE WHEN i.indisprimary THEN ' primary ' ELSE ' unique ' END
              || string_agg(a.attname, ',' ORDER BY k.position) AS line
       FROM pg_index i
       JOIN pg_class c ON c.oid = i.indrelid
       CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, position)
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
       WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND i.indpred IS NULL AND c.relname <> '_prisma_migrations' AND NOT c.relispartition
       GROUP BY c.relname, i.indexrelid, i.indisprimary`,
    );
    expect(declared.sort()).toEqual(rows.map((row) => row.line).sort());
  });
});
