#!/usr/bin/env node
/**
 * Answers the requests of the benchmark like PocketBase, from memory: `npm run bench -- --peers --quick --pocketbase
 * bench/peer-stand-in.ts` checks the machinery without another product.
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const [command] = process.argv.slice(2);
const address = process.argv.find((each) => each.startsWith("--http="))?.slice("--http=".length);
if (command === "serve" && address !== undefined) serve(address);

function serve(hostAndPort: string): void {
  const records: object[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const path = request.url ?? "";
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer(`${request.method} ${path}`, body)));
  });
  const [host, port] = hostAndPort.split(":");
  server.listen(Number(port), host);
  process.on("SIGTERM", () => {
    server.close();
    server.closeAllConnections();
  });

  function answer(call: string, body: string): object {
    if (/auth-with-password$/.test(call)) return { token: "stand-in" };
    if (/^GET .*\?perPage=20/.test(call)) return { items: records.slice(-20) };
    if (/^POST .*\/records$/.test(call)) {
      const record = { ...JSON.parse(body), id: `record${records.length}` };
      records.push(record);
      return record;
    }
    return records.at(-1) ?? {};
  }
}
