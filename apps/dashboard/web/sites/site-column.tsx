import type { ListedSite } from "../../src/sites/sites.route.js";
import { type Column, Stacked } from "../ui/table.js";

/** A site by its name, which leads to its statistics. */
export const siteColumn: Column<ListedSite> = {
  text: "Site",
  by: ({ name }) => name,
  class: "is-stacked",
  cell: ({ id, name, domain }) => (
    <Stacked below={domain}>
      <a href={`/dashboard/sites/${id}`}>{name}</a>
    </Stacked>
  ),
};
