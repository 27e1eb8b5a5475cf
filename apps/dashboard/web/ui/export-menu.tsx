import { Menu, MenuItem } from "./menu.js";

/** The whole list of a path of `/dashboard/api` in its order, however many pages it has. */
export function ExportMenu({ path, label = "Export" }: { path: string; label?: string }) {
  return (
    <Menu label={label} icon="download">
      {["ndjson", "csv"].map((format) => (
        <MenuItem key={format} href={`/dashboard/api${path}${path.includes("?") ? "&" : "?"}format=${format}`} download>
          {format.toUpperCase()}
        </MenuItem>
      ))}
    </Menu>
  );
}
