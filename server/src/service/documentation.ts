import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import type { Config } from "../config/config.ts";
import { version } from "../config/version.ts";
import type { DocumentedLimits } from "../contract/schema.ts";
import type { Page } from "../http/web-page.ts";
import { type Audience, type DescribedApi, describeApi } from "../operations/openapi.ts";

type DocumentedConfig = Pick<Config, "publicUrl" | "console" | keyof DocumentedLimits>;

/** Serves the OpenAPI documents and their browser views without any third-party host. */
export function documentationPages(api: DescribedApi, config: DocumentedConfig): Page[] {
  return [
    openapi("clients", api, config),
    openapi("operators", api, config),
    docsPage("/_/docs", "clients", config),
    docsPage("/_/docs/operators", "operators", config),
    { path: "/_/docs/start.js", contentType: scriptType, load: () => start },
    { path: "/_/docs/theme.js", contentType: scriptType, load: () => theme },
    { path: "/_/docs/page.css", contentType: styleType, load: () => style },
    asset("swagger-ui.css", styleType),
    asset("swagger-ui-bundle.js", scriptType),
  ];
}

const htmlType = "text/html; charset=utf-8";
const scriptType = "text/javascript; charset=utf-8";
const styleType = "text/css; charset=utf-8";

/** A file of Swagger UI, copied by `scripts/docs-assets.ts`. */
function asset(file: string, contentType: string): Page {
  const manifest = findPackageJSON(import.meta.url) ?? ""; // every module of the server belongs to its package
  const compressed = join(dirname(manifest), "assets/docs", `${file}.br`);
  return { path: `/_/docs/${file}`, contentType, isBrotli: true, load: () => readFileSync(compressed) };
}

/** The names of the OpenAPI documents, below `/_/`. */
const documents: Readonly<Record<Audience, string>> = {
  clients: "openapi.json",
  operators: "openapi.operators.json",
};

function openapi(audience: Audience, api: DescribedApi, config: DocumentedConfig): Page {
  const info = { version, serverUrl: config.publicUrl ?? "/", limits: config };
  return {
    path: `/_/${documents[audience]}`,
    contentType: "application/json",
    load: () => JSON.stringify(describeApi(api, audience, info)),
  };
}

/** The URLs are relative, so that the page works below any path. */
function docsPage(path: string, audience: Audience, config: DocumentedConfig): Page {
  const upwards = path.split("/").length - 3; // to the folder of all pages, which the path begins with
  return {
    path,
    contentType: htmlType,
    hasRelativeUrls: true,
    load: (isSlashed) => docsHtml(audience, "../".repeat(upwards + (isSlashed ? 1 : 0)), config.console),
  };
}

/**
 * Operators' operations have a separate page, because app developers do not need them.
 *
 * @param root the address of `/_/` as seen from the page
 */
function docsHtml(audience: Audience, root: string, hasConsole: boolean): string {
  const link = (page: Audience, href: string, text: string) =>
    `<a href="${href}"${page === audience ? ' aria-current="page"' : ""}>${text}</a>`;
  return `<!doctype html>
<html lang="en" data-openapi="${documents[audience]}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Rollcall API${audience === "operators" ? " for operators" : ""}</title>
<script src="${root}docs/theme.js"></script>
<link rel="stylesheet" href="${root}docs/swagger-ui.css">
<link rel="stylesheet" href="${root}docs/page.css">
<link rel="icon" href="data:,">
</head>
<body>
<header>
<a class="name" href="${root}../">Rollcall</a>
<nav>${link("clients", `${root}docs`, "Apps")} ${link("operators", `${root}docs/operators`, "Operators")} <a href="${root}${documents[audience]}">OpenAPI</a>${hasConsole ? ` <a href="${root}console/">Console</a>` : ""}</nav>
<button id="theme" type="button">Dark</button>
</header>
<main id="docs"></main>
<script src="${root}docs/swagger-ui-bundle.js"></script>
<script src="${root}docs/start.js"></script>
</body>
</html>
`;
}

/** Runs before the first paint: the stored choice, otherwise the system's preference. */
const theme = `(() => {
  const root = document.documentElement;
  const stored = localStorage.getItem("rollcall-theme");
  const isDark = stored === null ? matchMedia("(prefers-color-scheme: dark)").matches : stored === "dark";
  root.classList.toggle("dark-mode", isDark);
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = root.classList.contains("dark-mode") ? "Light" : "Dark"; };
    label();
    button.addEventListener("click", () => {
      const dark = root.classList.toggle("dark-mode");
      localStorage.setItem("rollcall-theme", dark ? "dark" : "light");
      label();
    });
  });
})();
`;

const start = `(async () => {
  const address = new URL("../" + document.documentElement.dataset.openapi, document.currentScript.src);
  const spec = await (await fetch(address)).json();
  window.ui = SwaggerUIBundle({
    spec,
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    persistAuthorization: true,
    validatorUrl: null,
    requestInterceptor(request) {
      // Also accepts a bare token, without the scheme.
      const given = request.headers.Authorization;
      if (given && !given.trim().includes(" ")) request.headers.Authorization = "Service " + given.trim();
      return request;
    },
  });
})();
`;

const style = `body { margin: 0; }
header { display: flex; align-items: center; gap: 1rem; padding: .6rem 1.25rem; font: 16px/1.4 system-ui, sans-serif;
  border-bottom: 1px solid #d8dee4; background: #fff; color: #1f2328; }
header .name { font-weight: 700; }
header a { color: inherit; text-decoration: none; }
header nav { display: flex; gap: 1rem; flex: 1; }
header nav a { padding: .2rem 0; border-bottom: 2px solid transparent; }
header nav a:hover, header nav a[aria-current] { border-bottom-color: #0b7285; }
header button { font: inherit; padding: .25rem .7rem; border: 1px solid #d8dee4; border-radius: 6px; background: transparent;
  color: inherit; cursor: pointer; }
html.dark-mode header { background: #14171a; color: #e6e8ea; border-color: #343a40; }
html.dark-mode header button { border-color: #495057; }
html.dark-mode header nav a:hover, html.dark-mode header nav a[aria-current] { border-bottom-color: #3bc9db; }
.swagger-ui .opblock .opblock-summary-path { word-break: break-word; }
@media (max-width: 640px) {
  header { padding: .6rem .8rem; gap: .8rem; font-size: 15px; }
  header nav { gap: .7rem; }
  .swagger-ui .wrapper { padding: 0 .6rem; }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; flex: 1 1 auto; font-size: 14px; padding: 0 6px; }
  .swagger-ui .opblock .opblock-summary-description { flex-basis: 100%; padding: .4rem .6rem 0; text-align: left; }
  .swagger-ui .filter .operation-filter-input { box-sizing: border-box; max-width: 100%; width: 100%; }
  .swagger-ui .opblock-body { overflow-x: auto; }
  .swagger-ui table tbody tr td:first-of-type { min-width: 5em; }
}
`;
