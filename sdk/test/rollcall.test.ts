import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { createCheckin, getDevice } from "../src/generated/calls.ts";
import { ItemAlreadyExists } from "../src/generated/errors.ts";
import { createRollcall } from "../src/rollcall.ts";
import { ConfigurationError, NotSignedIn } from "../src/wire/errors.ts";
import { type TestClient, testClient } from "./clients.ts";

let test: TestApp;
let rollcall: TestClient;
before(async () => {
  test = await startTestApp();
  rollcall = testClient(test);
});
after(async () => {
  await rollcall.close();
  await test.close();
});

const location = { lat: 48.2, lng: 16.37 };

describe("the methods of a client with sessions", () => {
  it("register the device automatically, and require a user where the service does", async () => {
    assert.equal(rollcall.device.state, "new");
    await rollcall.metrics.record("started");
    assert.equal(rollcall.device.state, "registered");
    await assert.rejects(rollcall.checkins.create({ location }), NotSignedIn);
    const batch = rollcall.batch();
    batch.add(createCheckin({ location }));
    await assert.rejects(batch.send(), NotSignedIn);
    assert.deepEqual(rollcall.requests, ["POST /devices", "POST /metrics/events/started"]);
  });

  it("run as the current session or as a given user", async () => {
    const ada = await rollcall.signUp({ userName: "ada", password: "correct horse" });
    const grace = await rollcall.signUp({ userName: "grace", password: "correct horse" });
    assert.equal((await rollcall.users.me()).id, grace.userId);
    assert.equal((await rollcall.as(ada).users.me()).id, ada.userId);
    assert.equal(rollcall.as(ada.userId).session.userName, "ada");
    assert.throws(() => rollcall.as("usr_00000000000000000000000000").session, NotSignedIn);
    await rollcall.use(ada);
    const batch = rollcall.batch({ mode: "atomic" });
    const created = batch.add(createCheckin({ location }));
    const device = batch.add(getDevice());
    const results = await batch.send();
    assert.equal(results.get(created).userID, ada.userId);
    assert.equal(results.get(device).platform, (await rollcall.device.get()).platform);
  });

  it("run as a given user also in batches and with single calls", async () => {
    const linus = await rollcall.signUp({ userName: "linus", password: "correct horse" });
    await rollcall.signUp({ userName: "current", password: "correct horse" });
    const asLinus = rollcall.as(linus);
    const batch = asLinus.batch({ mode: "sequential" });
    const created = batch.add(createCheckin({ location }));
    assert.equal((await batch.send()).get(created).userID, linus.userId);
    const sent = asLinus.send(createCheckin({ location }));
    assert.equal((await sent).userID, linus.userId);
    assert.equal((await sent.meta).attempts, 1);
  });

  it("belong to a client that is created with options only", () => {
    assert.throws(() => createRollcall(undefined as never), ConfigurationError);
  });

  it("refuse a value that names no user, instead of acting for the current user or the device", async () => {
    for (const wrong of [undefined, "", {}, 5] as never[]) {
      assert.throws(() => rollcall.as(wrong), ConfigurationError);
      await assert.rejects(rollcall.use(wrong), ConfigurationError);
    }
  });

  it("refuse a value that is not a call, such as a function that returns one", () => {
    const rule = { name: "ConfigurationError", message: /^call must be the result of a function/ };
    for (const wrong of [undefined, createCheckin, {}] as never[]) assert.throws(() => rollcall.send(wrong), rule);
  });

  it("refuse options of a wrong type, and treat null as absent", async () => {
    const wrong: [object, RegExp][] = [
      [{ signal: 5 }, /^signal must be an AbortSignal/],
      [{ timeoutMs: "5" }, /^timeoutMs must be a number of milliseconds above 0/],
      [{ timeoutMs: Number.NaN }, /^timeoutMs/],
      [{ retry: { repeats: -1 } }, /^retry\.repeats must be an integer from 0 to 10/],
      [{ onProgress: "log" }, /^onProgress must be a function/],
    ];
    for (const [options, message] of wrong) {
      const rule = { name: "ConfigurationError", message };
      assert.throws(() => rollcall.send(getDevice(), options), rule);
      assert.throws(() => rollcall.checkins.search({}, options), rule);
      await assert.rejects(rollcall.batch().send(options), rule);
    }
    await rollcall.send(getDevice(), null as never);
    await rollcall.checkins.search({}, null as never);
    await rollcall.batch(null as never).send(null as never);
    assert.throws(() => rollcall.on("ready", "listener" as never), /on: listener must be a function/);
    assert.throws(() => rollcall.intercept(null as never), /intercept: interceptor must be an object/);
    assert.throws(() => rollcall.pictures.url(null as never), /file must have a signedUrl/);
  });

  it("reject with errors that differ by class", async () => {
    const error = await rollcall
      .signUp({ userName: "ada", password: "correct horse" })
      .catch((error: unknown) => error);
    assert.ok(error instanceof ItemAlreadyExists);
    assert.equal(error.errorNumber, 770);
  });
});
