import path from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server to which `npm run console` forwards calls of the API; that of `npm start` by default. */
const server = process.env["ROLLCALL_URL"] ?? "http://127.0.0.1:8080";

/** Begins every style sheet, because the order in which the browser loads them depends on the chunks. */
const layers = "@layer reset, base, parts, screens;";

export default defineConfig({
  root: import.meta.dirname,
  base: "./", // works below any path
  cacheDir: path.join(import.meta.dirname, "../node_modules/.cache/console"),
  plugins: [
    react(),
    {
      name: "order-of-layers",
      enforce: "pre",
      transform: (code, id) => (id.endsWith(".css") ? layers + code : undefined),
    },
  ],
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: "manifest.json",
    // One chunk compresses better than the several into which React would be divided.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: "react", test: /node_modules\/(react|react-dom|scheduler|use-sync-external-store)\// }],
        },
      },
    },
  },
  server: {
    host: "127.0.0.1",
    port: 5174,
    proxy: { "/_/api": server, "/_/openapi.json": server },
  },
});
