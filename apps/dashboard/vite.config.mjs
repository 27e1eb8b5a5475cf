import { defineConfig } from "vite";

/** Modules of the first load: one file, so that a page costs one more, also one with the table of traces or scores. */
const firstLoad =
  /vite\/|node_modules\/(?:@?preact|@tanstack)|packages\/plan\/|\/web\/(?:index\.html|main|app|pages|part|data|ui|shell|styles|traces\/traces-table|scores\/score-parts)/;

export default defineConfig({
  root: "web",
  base: "/dashboard/",
  // JSX by Vite itself: no plugin.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [
    {
      name: "theme-before-paint",
      // Vite drops the attribute: the script sets the theme before the first paint.
      transformIndexHtml: {
        order: "post",
        handler: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"'),
      },
    },
  ],
  server: { port: 4010, strictPort: true, proxy: { "/dashboard/api": "http://localhost:4000" } },
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    manifest: true,
    // All styles are one small file: a page costs one request less.
    cssCodeSplit: false,
    target: "es2022",
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "main", test: (id) => firstLoad.test(id) }] } } },
  },
});
