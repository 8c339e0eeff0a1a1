// Runs on one engine: it tests how the client reads answers.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { connect } from "../src/nouns/connect.ts";
import { UnexpectedAnswer } from "../src/wire/errors.ts";

const page = "<html>Sign in to this network</html>";

/** A captive portal, which answers every request with its page, directly or after a redirect. */
async function startPortal(): Promise<Server> {
  const portal = createServer(({ url }, response) => {
    if (url?.startsWith("/redirect")) response.writeHead(302, { location: "/sign-in" }).end();
    else response.writeHead(200, { "content-type": "text/html", etag: '"a page"' }).end(page);
  });
  portal.listen(0, "127.0.0.1");
  await once(portal, "listening");
  return portal;
}

describe("a download behind a captive portal", () => {
  let app: TestApp;
  let portal: Server;
  let path = "";
  before(async () => {
    [app, portal] = await Promise.all([startTestApp(), startPortal()]);
  });
  after(async () => {
    portal.closeAllConnections();
    portal.close();
    await app.close();
  });

  async function createClient() {
    const { token } = await app.signUp();
    const { port } = portal.address() as AddressInfo;
    const network: typeof fetch = (input, init) => fetch(path === "" ? input : `http://127.0.0.1:${port}${path}`, init);
    return connect({ url: app.url, token, fetch: network, retry: false });
  }

  for (const way of ["/redirect", "/at-once"]) {
    it(`rejects instead of returning the portal's page, delivered by ${way}`, async () => {
      const client = await createClient();
      path = "";
      const { id } = await client.blobs.create(new Blob(["<html>of the user</html>"], { type: "text/html" }));
      path = way;
      const error = await client.blobs.download(id).catch((error: unknown) => error);
      assert.ok(error instanceof UnexpectedAnswer);
      assert.deepEqual([error.status, error.snippet, error.isRetryable, error.outcome], [200, page, true, "none"]);
      path = "";
      assert.equal(await (await client.blobs.download(id)).text(), "<html>of the user</html>");
    });
  }
});
