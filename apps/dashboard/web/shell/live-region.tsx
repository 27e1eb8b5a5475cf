import { announced } from "../ui/announce.js";

export function LiveRegion() {
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {announced.value}
    </div>
  );
}
