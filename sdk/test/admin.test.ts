import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestOperator } from "../../server/test/harness.ts";
import {
  type Admin,
  createAdmin,
  createApplication,
  exportUser,
  getApplication,
  getOwnOperator,
  listApplications,
  searchOperatedUsers,
} from "../src/admin.ts";
import { NotSignedIn, SessionEnded } from "../src/wire/errors.ts";
import { checkedFetch } from "./checked-fetch.ts";

let test: TestApp;
let operator: TestOperator;
let admin: Admin;
before(async () => {
  test = await startTestApp();
  operator = await test.createOperator("ada");
  admin = createAdmin({ url: test.url, fetch: checkedFetch() });
});
after(() => test.close());

describe("the operators' client", () => {
  it("refuses calls without a session, and sends no request", async () => {
    await assert.rejects(admin.send(getOwnOperator()), NotSignedIn);
  });

  it("refuses a value that is not a call, such as a function that returns one", async () => {
    const rule = { name: "ConfigurationError", message: /^call must be the result of a function/ };
    for (const wrong of [undefined, getOwnOperator, {}] as never[]) {
      assert.throws(() => admin.send(wrong), rule);
      await assert.rejects(Promise.resolve(admin.pages(wrong)), rule);
    }
  });

  it("signs in, creates applications and finds users", async () => {
    const session = await admin.signIn({ name: operator.name, password: operator.password });
    assert.ok(session.expires instanceof Date);
    const application = await admin.send(createApplication({ name: "Lunch" }));
    assert.equal((await admin.send(getApplication(application.appid))).name, "Lunch");
    const user = await test.signUp("grace");
    const { appid } = test.application;
    const found = await admin.pages(searchOperatedUsers(appid, { userName: "grace" }));
    assert.deepEqual(
      found.items.map(({ id }) => id),
      [user.id],
    );
    const names: string[] = [];
    for await (const { name } of admin.pages(listApplications({ pageSize: 1 }))) names.push(name);
    assert.deepEqual(names.sort(), ["Lunch", "Test"]);
    const archive = await admin.download(exportUser(appid, user.id));
    assert.equal(archive.contentType, "application/zip");
    assert.equal((await (await archive.blob()).text()).slice(0, 2), "PK");
  });

  it("reports a revoked session, and sends no further requests", async () => {
    const { token } = await admin.signIn({ name: operator.name, password: operator.password });
    const other = createAdmin({ url: test.url, token, fetch: checkedFetch() });
    let count = 0;
    other.on("signedOut", () => {
      count += 1;
    });
    await admin.signOut();
    await assert.rejects(admin.send(getOwnOperator()), NotSignedIn);
    const sent = other.send(getOwnOperator());
    await assert.rejects(sent, SessionEnded);
    await assert.rejects(sent.meta, SessionEnded);
    await assert.rejects(other.send(getOwnOperator()), NotSignedIn);
    assert.equal(count, 1);
  });

  it("reports a wrong password as AuthFailed", async () => {
    await assert.rejects(admin.signIn({ name: operator.name, password: "wrong" }), { name: "AuthFailed", status: 401 });
  });
});
