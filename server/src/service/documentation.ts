import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Endpoint } from "../http/endpoint.ts";
import { describeEndpoints } from "../http/endpoint-openapi.ts";
import { describeRoutes } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { Page } from "../http/web-page.ts";
import { version } from "../version.ts";

/** `/_/openapi.json`, and `/_/docs` to read it in a browser; every byte of it comes from this server. */
export function documentationPages(
  { routes, endpoints }: { readonly routes: readonly Route[]; readonly endpoints: readonly Endpoint[] },
  serverUrl: string | undefined,
): Page[] {
  return [
    {
      path: "/_/openapi.json",
      contentType: "application/json",
      load: () => {
        const info = { version, serverUrl: serverUrl ?? "/" };
        return JSON.stringify(describeRoutes(routes, info, describeEndpoints(endpoints)));
      },
    },
    { path: "/_/docs", contentType: "text/html; charset=utf-8", load: () => html },
    { path: "/_/docs/start.js", contentType: "text/javascript; charset=utf-8", load: () => start },
    asset("swagger-ui.css", "text/css; charset=utf-8"),
    asset("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
  ];
}

function asset(file: string, contentType: string): Page {
  return {
    path: `/_/docs/${file}`,
    contentType,
    load: () => readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`)),
  };
}

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rollcall API</title>
<link rel="stylesheet" href="/_/docs/swagger-ui.css">
<link rel="icon" href="data:,">
</head>
<body>
<main id="docs"></main>
<script src="/_/docs/swagger-ui-bundle.js"></script>
<script src="/_/docs/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({
  url: "/_/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
});
`;
