import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { SiteFunnels } from "../../src/goals/goals.route.js";
import { api } from "../data/api.js";
import type { Address } from "../statistics/address.js";
import type { PageFilters } from "../statistics/filters.js";
import { Confirm } from "../ui/dialog.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { actionsColumn, type Column } from "../ui/table.js";
import type { Goal } from "./goal-filters.js";

export type Funnel = SiteFunnels["funnels"][number];

export interface PartProps extends PageFilters {
  siteId: string;
  address: Address;
  isOwner: boolean;
  mayAdd: boolean;
  goals: readonly Goal[];
}

/** They read the events of all days, so a page that stays open asks seldom. */
export const polling = { keepPrevious: true, pollMs: 300_000, staleMs: 60_000 } as const;

/** What a change of a goal or a funnel makes stale. */
export const changed = (siteId: string) => [`/sites/${siteId}/goals`, `/sites/${siteId}/funnels`];

interface Named {
  id: string;
  name: string;
}

interface ChangesProps<Item> {
  siteId: string;
  kind: "goal" | "funnel";
  item: Item;
  dialog(item: Item, close: () => void): ComponentChildren;
}

/** What an owner may do with a goal or a funnel, as a menu. */
export function ChangesMenu<Item extends Named>({ siteId, kind, item, dialog }: ChangesProps<Item>) {
  const [open, setOpen] = useState<"change" | "delete">();
  const close = () => setOpen(undefined);
  const { id, name } = item;
  return (
    <>
      <Menu label={`Change “${name}”`} icon="more" look="quiet" isIconOnly>
        <MenuItem onClick={() => setOpen("change")}>Change</MenuItem>
        <MenuItem onClick={() => setOpen("delete")}>Delete</MenuItem>
      </Menu>
      {open === "change" && dialog(item, close)}
      {open === "delete" && (
        <Confirm
          title={`Delete the ${kind}?`}
          verb="Delete"
          work={() => api.delete(`/sites/${siteId}/${kind}s/${id}`)}
          invalidates={changed(siteId)}
          says={`The ${kind} is deleted`}
          onClose={close}
          onDone={() => {
            close();
            focusRegion(kind);
          }}
        >
          <p>
            “{name}” goes with its figures. Visits and events stay, so the same {kind} can be made again.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** The row with the focus goes: the button that adds one takes it, after the dialog gave it back. */
function focusRegion(kind: ChangesProps<Named>["kind"]): void {
  setTimeout(() => document.querySelector<HTMLElement>(`[data-adds="${kind}"]`)?.focus());
}

export function changesColumn<Item extends Named>({
  isOwner,
  ...menu
}: Omit<ChangesProps<Item>, "item"> & { isOwner: boolean }): Column<Item>[] {
  if (!isOwner) return [];
  return [{ ...actionsColumn, cell: (item) => <ChangesMenu {...menu} item={item} /> }];
}
