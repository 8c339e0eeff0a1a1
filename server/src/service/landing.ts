import { version } from "../config/version.ts";
import type { LandingPage } from "../http/web-page.ts";

/** `GET /`: links to the documentation. It reveals no more than `/_/` does. */
export const landingPage: LandingPage = {
  result: {
    name: "Rollcall",
    version,
    docs: "/_/docs",
    openapi: "/_/openapi.json",
    health: "/_/health/ready",
  },
  html: { contentType: "text/html; charset=utf-8", load: () => html },
};

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Rollcall</title>
<link rel="icon" href="data:,">
<style>
:root { --text: #1f2328; --soft: #59636e; --line: #d8dee4; --ground: #f6f8fa; --card: #fff; --accent: #0b7285; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8ea; --soft: #9aa4ad; --line: #343a40; --ground: #14171a; --card: #1c2022; --accent: #3bc9db; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 34rem; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; }
h1 small { font-size: .95rem; font-weight: 400; color: var(--soft); margin-left: .4rem; }
p { margin: .4rem 0 1.5rem; color: var(--soft); }
ul { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: 10px; background: var(--card);
  overflow: hidden; }
li + li { border-top: 1px solid var(--line); }
a { display: block; padding: .85rem 1.1rem; color: inherit; text-decoration: none; }
a:hover, a:focus-visible { background: var(--ground); }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
b { display: block; color: var(--accent); font-weight: 600; }
span { color: var(--soft); font-size: .925rem; }
</style>
</head>
<body>
<main>
<h1>Rollcall <small>${version}</small></h1>
<p>This server is running. Apps and devices talk to it over HTTP.</p>
<ul>
<li><a href="/_/docs"><b>API documentation</b><span>Every operation, to read and to try</span></a></li>
<li><a href="/_/docs/operators"><b>For operators</b><span>Applications, users, settings and the audit log</span></a></li>
<li><a href="/_/openapi.json"><b>OpenAPI</b><span>The same for tools</span></a></li>
<li><a href="/_/health/ready"><b>Health</b><span>Whether the server takes requests</span></a></li>
</ul>
</main>
</body>
</html>
`;
