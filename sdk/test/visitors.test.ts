import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { logoutUser } from "../src/generated/calls.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import { connect } from "../src/nouns/connect.ts";
import { visitors } from "../src/server.ts";
import { testClient } from "./clients.ts";

const password = "correct horse";

describe("the visitors of a server", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
  });
  after(() => app.close());

  const connectTo = ({ token, root }: { readonly token: string; readonly root: string }) =>
    connect({ url: app.url, token, root });

  it("sign in without signing the same user out elsewhere, and the client stores nothing about them", async () => {
    const store = memoryStore();
    const client = testClient(app, { store });
    await client.start();
    const records = await store.list("");
    const site = visitors(client);
    const phone = await site.signUp({ userName: "ada", password, firstName: "Ada" });
    const laptop = await site.signIn({ userName: "ada", password });
    assert.deepEqual([phone.userId, phone.user.firstName], [laptop.userId, "Ada"]);
    assert.ok(!("accessToken" in phone.user) && phone.expires > phone.user.created);
    for (const session of [phone, laptop]) assert.equal((await connectTo(session).users.me()).id, phone.userId);
    assert.deepEqual([client.sessions, client.session], [[], null]);
    assert.deepEqual(await store.list(""), records);
    assert.deepEqual(client.events, ["ready", "deviceRegistered"]);
    await client.close();
  });

  it("sign out one by one", async () => {
    const client = testClient(app);
    const site = visitors(client);
    const phone = await site.signUp({ userName: "grace", password });
    const laptop = await site.signIn({ userName: "grace", password });
    await connectTo(laptop).send(logoutUser());
    await assert.rejects(connectTo(laptop).users.me(), { name: "AuthAccessTokenInvalid" });
    assert.equal((await connectTo(phone).users.me()).userName, "grace");
    await client.close();
  });

  it("do not change the sessions of the client", async () => {
    const client = testClient(app);
    const own = await client.signUp({ userName: "site", password });
    const visitor = await visitors(client).signIn({ userName: "site", password });
    assert.equal(client.session, own);
    assert.notEqual(visitor.token, own.handoff().token);
    assert.equal((await client.users.me()).userName, "site");
    await client.close();
  });

  // spec/limits#sign-ins-through-a-server
  it("are delayed only by wrong passwords from their own address, if the server passes it", async (t) => {
    const behind = await startTestApp({ TRUST_PROXY: "loopback" });
    t.after(() => behind.close());
    const client = testClient(behind);
    const site = visitors(client);
    await site.signUp({ userName: "ada", password });
    const signIn = (address: string, typed = password) =>
      site.signIn({ userName: "ada", password: typed }, { headers: { "X-Forwarded-For": address }, retry: false });
    for (let n = 0; n < 10; n++) {
      await assert.rejects(signIn("203.0.113.1", "wrong"), { name: "AuthBadUsernameOrPassword" });
    }
    await assert.rejects(signIn("203.0.113.1"), { name: "RateLimitExceeded" });
    assert.equal((await signIn("203.0.113.2")).user.userName, "ada");
    await client.close();
  });

  it("are refused with the error of the service, and need a client", async () => {
    const client = testClient(app);
    const refused = visitors(client).signIn({ userName: "unknown", password });
    await assert.rejects(refused, { name: "AuthBadUsernameOrPassword" });
    assert.throws(() => visitors({} as never), /visitors: client must be the result of createRollcall/);
    await client.close();
  });
});
