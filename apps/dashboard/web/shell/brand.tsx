export function Brand() {
  return (
    <a class="brand" href="/dashboard/">
      <svg width="20" height="22" viewBox="0 0 20 22" aria-hidden="true" focusable="false">
        <path d="M10 0 19.5 5.5v11L10 22 .5 16.5v-11Z" />
        <path class="brand-letter" d="m5.5 8 2 6 2.5-5.5 2.5 5.5 2-6" />
      </svg>
      Waymark
    </a>
  );
}
