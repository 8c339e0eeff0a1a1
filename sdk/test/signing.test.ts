import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import type { NewApplication } from "../../server/src/applications/applications.store.ts";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { changeUser, getDevice, getOwnUser, searchCheckins } from "../src/generated/calls.ts";
import { type SigningOptions, signing } from "../src/parts/signing/signing.ts";
import { ConfigurationError } from "../src/wire/errors.ts";
import { type TestClient, testClient } from "./clients.ts";

const secret = "sixteen letters!";
const password = "correct horse";

describe("signed requests", () => {
  let app: TestApp;
  let application: NewApplication;
  before(async () => {
    app = await startTestApp();
    application = await app.createApplication();
    const { token } = await app.createOperator();
    const path = `/_/api/applications/${application.appid}`;
    await app.call(`PUT ${path}/signing-secret`, { token, body: { secret } });
    await app.call(`PATCH ${path}/settings`, { token, body: { signedRequests: "required" } });
  });
  after(() => app.close());

  function signed(options: SigningOptions, more: Parameters<typeof testClient>[1] = {}): TestClient {
    const client = testClient({ url: app.url, application }, more);
    signing(client, options);
    return client;
  }

  it("are accepted where the application requires them, and unsigned requests are refused", async () => {
    await assert.rejects(testClient({ url: app.url, application }).send(getDevice()), { name: "AuthSignatureInvalid" });
    for (const methods of ["all", "get-post"] as const) {
      const client = signed({ secret }, { methods });
      await client.signUp({ userName: `signed ${methods}`, password });
      await client.send(getOwnUser());
      await client.send(changeUser("me", { firstName: "Ada" }));
      await client.send(searchCheckins({ tag: "a&b=c" }));
      await client.session?.signOut();
      await client.send(getDevice());
    }
  });

  it("can be signed by a function of the app", async () => {
    const hmac = (key: string, text: string) => createHmac("sha256", key).update(text).digest("hex").toUpperCase();
    await signed({ secret, hmac }).send(getDevice());
  });

  it("are signed by their path below the root, behind a proxy that removes a prefix", async () => {
    const proxy: Server = createServer(async (request, response) => {
      const { method = "GET", url = "", headers } = request;
      const { authorization = "", "content-type": type = "" } = headers;
      const body = await buffer(request);
      const answer = await fetch(`${app.url}${url.replace("/backend", "")}`, {
        method,
        headers: { authorization, ...(type !== "" && { "content-type": type }) },
        ...(body.length > 0 && { body }),
      });
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port } = proxy.address() as AddressInfo;
    const client = signed({ secret }, { url: `http://127.0.0.1:${port}/backend/` });
    await client.signUp({ userName: "behind a proxy", password });
    await client.send(getOwnUser());
    assert.deepEqual(client.requests, ["POST /backend/devices", "POST /backend/users", "GET /backend/users/me"]);
    await client.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });

  it("are not sent to a service with another secret or without a secret", async () => {
    const wrong = signed({ secret: "another sixteen!" });
    await assert.rejects(wrong.send(getDevice()), ConfigurationError);
    assert.deepEqual(wrong.requests, ["POST /devices"]);
    const none = testClient(app);
    signing(none, { secret });
    await assert.rejects(none.send(getDevice()), ConfigurationError);
  });

  it("require a secret, and keep the first one", async () => {
    const client = testClient({ url: app.url, application });
    const wrong: unknown[][] = [
      [client, { secret: "" }],
      [client],
      [client, null],
      [undefined, { secret }],
      [{}, { secret }],
    ];
    for (const values of wrong) assert.throws(() => Reflect.apply(signing, undefined, values), ConfigurationError);
    signing(client, { secret });
    signing(client, { secret: "another sixteen!" });
    await client.send(getDevice());
  });
});
