import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
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
      for (const screen of ["users", "devices", "crashes", "keys", "settings", "audit"]) {
        await page.goto(`${proxyUrl}/_/console/#/apps/${server.appid}/${screen}`);
        await page
          .locator("h1")
          .filter({ hasText: new RegExp(screen, "i") })
          .waitFor();
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
};

interface Proxy {
  readonly port: number;
  /** The server that receives the calls. */
  leadTo(url: string): void;
  close(): Promise<void>;
}

/** Forwards requests below the path to a server, without the path. */
async function startProxy(prefix: string): Promise<Proxy> {
  let target = "";
  const proxy = createServer((incoming, outgoing) => {
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
  });
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
