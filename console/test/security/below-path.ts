import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import path from "node:path";
import { startThrowaway } from "rollcall/testing";
import { watchPages } from "../profiles.ts";
import { type Checks, signIn } from "../suite.ts";

export const belowPath: Checks = {
  async "below a path behind a proxy, an operator signs in, walks the screens and signs out"({ browser }) {
    const proxy = await startProxy("/backend");
    const proxyUrl = `http://127.0.0.1:${proxy.port}/backend`;
    const server = await startThrowaway({ env: { PASSWORD_HASH_MEMORY_KIB: "8", PUBLIC_URL: proxyUrl } });
    proxy.leadTo(server.url);
    const misdeeds: string[] = [];
    const page = await watchPages(browser, new URL(proxyUrl).origin, {}, misdeeds);
    try {
      await page.goto(`${proxyUrl}/_/console`);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      assert.equal(new URL(page.url()).pathname, "/backend/_/console/");
      await signIn(page, server);
      const [cookie] = await page.context().cookies(`${proxyUrl}/_/api/`);
      assert.equal(cookie?.path, "/backend/_/api");
      const screens = { users: "Users", devices: "Devices", crashes: "Crashes", keys: "Keys", settings: "Settings" };
      for (const [screen, heading] of Object.entries({ ...screens, audit: "Application log" })) {
        await page.goto(`${proxyUrl}/_/console/#/apps/${server.appid}/${screen}`);
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
        await page.locator("[role=grid], h2").first().waitFor();
        assert.equal(await page.getByText("This did not work").count(), 0, screen);
      }
      await page.getByRole("button", { name: /^Account/ }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      assert.deepEqual(misdeeds, []);
    } finally {
      await page.context().close();
      await proxy.close();
      await server.stop();
    }
  },

  async "behind a proxy with https that the server does not trust, the console says which setting is missing"({
    browser,
    server,
  }) {
    const proxy = await startProxy("", certificate);
    proxy.leadTo(server.url);
    const proxyUrl = `https://127.0.0.1:${proxy.port}`;
    const misdeeds: string[] = [];
    const page = await watchPages(browser, proxyUrl, { ignoreHTTPSErrors: true }, misdeeds);
    try {
      await page.goto(`${proxyUrl}/_/console/`);
      await signIn(page, server);
      await page.goto(`${proxyUrl}/_/console/#/`);
      await page.getByText("Set TRUST_PROXY to the address of the proxy").waitFor();
      assert.deepEqual(misdeeds, []);
    } finally {
      await page.context().close();
      await proxy.close();
    }
  },
};

const certificates = path.resolve(import.meta.dirname, "../../../server/test/certificates");
const certificate = {
  cert: readFileSync(path.join(certificates, "test-only-a.cert.pem")),
  key: readFileSync(path.join(certificates, "test-only-a.key.pem")),
};

interface Proxy {
  readonly port: number;
  /** The server that receives the calls. */
  leadTo(url: string): void;
  close(): Promise<void>;
}

/** Forwards requests below the path to a server, without the path; with a certificate, it serves https. */
async function startProxy(prefix: string, tls?: typeof certificate): Promise<Proxy> {
  let target = "";
  const proxy = tls === undefined ? createServer(forward) : createTlsServer(tls, forward);

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, headers, url = "" } = incoming;
    if (!url.startsWith(prefix)) {
      outgoing.writeHead(404).end();
      return;
    }
    const call = request(`${target}${url.slice(prefix.length)}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    call.on("error", () => outgoing.destroy());
    incoming.pipe(call);
  }

  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    leadTo(url) {
      target = url;
    },
    async close() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
