/**
 * Serves the example with a Rollcall server of its own: `npm run example:web`. With ROLLCALL_URL, ROLLCALL_APPID and
 * ROLLCALL_APPKEY it uses that server instead. PORT is 5173 by default.
 */

import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import path from "node:path";
import { build } from "esbuild";
import { startThrowaway } from "rollcall/testing";
import { feature } from "topojson-client";

const { ROLLCALL_URL, ROLLCALL_APPID, ROLLCALL_APPKEY, PORT } = process.env;
const own = ROLLCALL_URL === undefined ? await startThrowaway() : undefined;
const configuration = JSON.stringify({
  url: own?.url ?? ROLLCALL_URL,
  appid: own?.appid ?? ROLLCALL_APPID,
  appkey: own?.appkey ?? ROLLCALL_APPKEY,
});

const { outputFiles } = await build({
  entryPoints: [path.join(import.meta.dirname, "src/app.ts"), path.join(import.meta.dirname, "app.css")],
  entryNames: "[name]",
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  loader: { ".png": "dataurl" },
  outdir: "/",
  write: false,
});
const files = new Map(outputFiles.map((file) => [file.path, file.contents]));
files.set("/", await readFile(path.join(import.meta.dirname, "index.html")));
const world = JSON.parse(await readFile(new URL(import.meta.resolve("world-atlas/land-110m.json")), "utf8"));
files.set("/land.json", Buffer.from(JSON.stringify(feature(world, world.objects.land))));
files.set("/configuration.json", Buffer.from(configuration));

const server = createServer((request, response) => send(response, request.url ?? "/"));
server.listen(Number(PORT ?? 5173), "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`http://127.0.0.1:${address.port}`);
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
    void own?.stop();
  });
}

function send(response: ServerResponse, url: string): void {
  const name = new URL(url, "http://localhost").pathname;
  const content = files.get(name);
  const type = { ".js": "text/javascript", ".css": "text/css", ".json": "application/json" }[path.extname(name)];
  response.writeHead(content === undefined ? 404 : 200, { "Content-Type": `${type ?? "text/html"}; charset=utf-8` });
  response.end(content);
}
