import { existsSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import type { WebAssets } from "../http/web-assets.ts";

const consolePath = "/_/console";

/**
 * Serves the operators' console, which a checkout builds into `console/dist`, and a package has in `dist/console`.
 *
 * @param folder replaces these
 */
export function consoleAssets(folder?: string): WebAssets {
  return { path: consolePath, findFolder: () => folder ?? findFolder(), waitingPage };
}

function findFolder(): string {
  const server = dirname(findPackageJSON(import.meta.url) ?? ""); // every module of the server belongs to its package
  const isCheckout = existsSync(join(server, "src"));
  return isCheckout ? join(server, "../console/dist") : join(server, "dist/console");
}

/** Tries again each second. Names the command, for a checkout without the tools that build. */
function waitingPage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="1">
<title>Rollcall</title>
<style nonce="${nonce}">
body { margin: 0; min-height: 100vh; display: grid; place-content: center; gap: .5rem; padding: 1.5rem;
  font: 16px/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText; }
h1 { margin: 0; font-size: 1.25rem; }
p { margin: 0; max-width: 34rem; }
code { font-family: ui-monospace, monospace; }
</style>
</head>
<body>
<h1>The console is being built</h1>
<p>This page opens it as soon as it is ready. If that takes longer than a minute, build it in the folder of Rollcall:
<code>npm ci &amp;&amp; npm run build:console</code></p>
</body>
</html>
`;
}
