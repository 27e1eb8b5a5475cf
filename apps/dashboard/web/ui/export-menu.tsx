import { Menu, MenuItem } from "./menu.js";

/** The whole list of a path of `/dashboard/api` in its order, however many pages it has. */
export function ExportMenu({ path }: { path: string }) {
  return (
    <Menu label="Export" icon="download">
      {["ndjson", "csv"].map((format) => (
        <MenuItem key={format} href={`/dashboard/api${path}${path.includes("?") ? "&" : "?"}format=${format}`} download>
          {format.toUpperCase()}
        </MenuItem>
      ))}
    </Menu>
  );
}
