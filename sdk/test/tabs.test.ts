import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { longSessions, startTestApp, type TestApp, type TestOperator } from "../../server/test/harness.ts";
import { getDevice, getOwnUser } from "../src/generated/calls.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import type { Store } from "../src/identity/store.ts";
import { SessionEnded } from "../src/wire/errors.ts";
import { type TestClient, testClient, until } from "./clients.ts";
import { createSimulatedClock, type SimulatedClock } from "./simulated-clock.ts";

const dayMs = 86_400_000;
const password = "correct horse";
let count = 0;
const newName = () => `tab ${++count}`;

function requestsOf(tabs: readonly TestClient[], request: string): number {
  return tabs.flatMap(({ requests }) => requests).filter((other) => other === request).length;
}

describe("tabs that share a store", () => {
  let app: TestApp;
  let operator: TestOperator;
  before(async () => {
    app = await startTestApp(longSessions);
    operator = await app.createOperator();
  });
  after(() => app.close());

  function openTabs(number: number, store: Store, clock?: SimulatedClock): TestClient[] {
    return Array.from({ length: number }, () => testClient(app, { store }, clock));
  }

  async function devices(): Promise<number> {
    const path = `GET /_/api/applications/${app.application.appid}/devices?pageSize=1000`;
    return (await app.call(path, { token: operator.token })).body.result.pageResults.length;
  }

  it("register simultaneously and are one device", async () => {
    const before = await devices();
    const tabs = openTabs(20, memoryStore());
    const answers = await Promise.all(tabs.map((tab) => tab.send(getDevice())));
    assert.equal(new Set(answers.map(({ id }) => id)).size, 1);
    assert.equal(await devices(), before + 1);
    await Promise.all(tabs.map((tab) => tab.close()));
  });

  it("are one device even with a store that has no putIfAbsent", async () => {
    const { putIfAbsent, ...plain } = memoryStore();
    const before = await devices();
    const tabs = openTabs(20, plain);
    await Promise.all(tabs.map((tab) => tab.send(getDevice())));
    assert.equal(await devices(), before + 1);
    await Promise.all(tabs.map((tab) => tab.close()));
  });

  it("hold no lock while code of the app runs", async () => {
    const [tab] = openTabs(1, memoryStore());
    assert.ok(tab);
    const held: unknown[] = [];
    tab.intercept({
      async attempt(_, next) {
        held.push(...((await navigator.locks.query()).held ?? []));
        return next();
      },
    });
    await tab.send(getDevice());
    assert.deepEqual(held, []);
    assert.deepEqual(tab.requests, ["POST /devices", "GET /devices/current"]);
    await tab.close();
  });

  it("renew simultaneously and share one session, which is one row in the service", async () => {
    const clock = createSimulatedClock();
    const tabs = openTabs(20, memoryStore(), clock);
    const [first] = tabs;
    assert.ok(first);
    const { userId } = await first.signUp({ userName: newName(), password });
    const old = first.session?.handoff().token;
    await Promise.all(tabs.map((tab) => tab.ready()));
    app.advance(16 * dayMs);
    await clock.advance(16 * dayMs);
    await Promise.all(tabs.map((tab) => tab.send(getOwnUser())));
    await until(() => tabs.every(({ session }) => session?.handoff().token !== old));
    assert.ok(tabs.every(({ events }) => events.includes("renewed")));
    for (const tab of tabs) assert.equal((await tab.send(getOwnUser())).id, userId);
    assert.equal((await first.session?.tokens())?.items.length, 1);
    await Promise.all(tabs.map((tab) => tab.close()));
  });

  it("notice a sign-in, a change of the current user and a sign-out in another tab", async () => {
    const [one, two] = openTabs(2, memoryStore());
    assert.ok(one && two);
    await Promise.all([one.ready(), two.ready()]);
    const ada = await one.signUp({ userName: newName(), password });
    await until(() => two.session?.userId === ada.userId);
    assert.equal((await two.send(getOwnUser())).id, ada.userId);
    const bob = await two.signUp({ userName: newName(), password });
    await until(() => one.session?.userId === bob.userId);
    const changes = one.events.filter((event) => event === "sessionChanged").length;
    await one.use(ada, { here: true });
    await until(() => one.events.filter((event) => event === "sessionChanged").length > changes);
    assert.equal(one.session, ada);
    assert.equal((await one.send(getOwnUser())).id, ada.userId);
    assert.equal((await two.send(getOwnUser())).id, bob.userId);
    await two.session?.signOut();
    await until(() => one.sessions.length === 1);
    await until(() => one.events.includes("signedOut"));
    await Promise.all([one.close(), two.close()]);
  });

  it("use the new token after a sign-in in another tab, and do not sign that session out", async () => {
    const store = memoryStore();
    const [one, two] = openTabs(2, store);
    assert.ok(one && two);
    const userName = newName();
    const { userId } = await one.signUp({ userName, password });
    await two.ready();
    const path = `POST /_/api/applications/${app.application.appid}/users/${userId}/revoke-tokens`;
    await app.call(path, { token: operator.token, body: {} });
    const [, ...calls] = await Promise.allSettled([
      two.signIn({ userName, password }),
      ...Array.from({ length: 5 }, () => one.send(getOwnUser())),
    ]);
    for (const call of calls) {
      assert.ok(call.status === "fulfilled" || call.reason instanceof SessionEnded);
    }
    await until(() => one.session?.state === "active");
    assert.equal((await one.send(getOwnUser())).id, userId);
    assert.equal((await two.send(getOwnUser())).id, userId);
    await Promise.all([one.close(), two.close()]);
  });

  it("lose no session and no device when every n-th operation of the store fails", async () => {
    for (const n of [1, 2, 3, 5, 7]) {
      let operations = 0;
      const inner = memoryStore();
      const flaky = <A extends unknown[], T>(work: (...args: A) => T) => {
        return (...args: A): T => {
          operations += 1;
          if (operations % n === 0) throw new Error("the store failed");
          return work(...args);
        };
      };
      const store: Store = {
        durability: "disk",
        get: flaky(inner.get),
        set: flaky(inner.set),
        delete: flaky(inner.delete),
        list: flaky(inner.list),
      };
      const client = testClient(app, { store });
      const { userId } = await client.signUp({ userName: newName(), password });
      const path = `POST /_/api/applications/${app.application.appid}/users/${userId}/revoke-tokens`;
      for (let round = 0; round < 10; round += 1) assert.equal((await client.send(getOwnUser())).id, userId);
      assert.equal(requestsOf([client], "POST /devices"), 1, `every ${n}th`);
      assert.equal(client.events.filter((event) => event === "storeFailed").length, 1);
      await app.call(path, { token: operator.token, body: {} });
      await assert.rejects(client.send(getOwnUser()), SessionEnded);
      await client.send(getDevice());
      await client.close();
    }
  });

  it("agree on one device and one session, in any order of calls, sign-ins and sign-outs", async () => {
    const step = fc.record({ tab: fc.nat(3), work: fc.constantFrom("device", "user", "in", "out") });
    const userName = newName();
    await testClient(app).signUp({ userName, password });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
        const before = await devices();
        const tabs = openTabs(4, memoryStore());
        await Promise.all(
          steps.map(async ({ tab, work }) => {
            const client = tabs[tab];
            if (work === "device") await client?.send(getDevice());
            else if (work === "in") await client?.signIn({ userName, password });
            else if (work === "out") await client?.session?.signOut();
            else await client?.send(getOwnUser()).catch(() => {});
          }),
        );
        await Promise.all(tabs.map((tab) => tab.ready()));
        const states = () =>
          tabs.map(({ sessions }) =>
            sessions.map((session) => session.state !== "ended" && session.handoff().token).join(),
          );
        await until(() => new Set(states()).size === 1);
        assert.ok(tabs.every(({ sessions }) => sessions.length <= 1));
        assert.ok((await devices()) <= before + 1);
        await Promise.all(tabs.map((tab) => tab.close()));
      }),
      { numRuns: 15 },
    );
  });
});
