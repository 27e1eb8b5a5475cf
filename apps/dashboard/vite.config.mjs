import { defineConfig } from "vite";

export default defineConfig({
  root: "web",
  base: "/dashboard/",
  // JSX by Vite itself: no plugin.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { port: 4010, strictPort: true, proxy: { "/dashboard/api": "http://localhost:4000" } },
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    manifest: true,
    // All styles are one small file: a page costs one request less.
    cssCodeSplit: false,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
});
