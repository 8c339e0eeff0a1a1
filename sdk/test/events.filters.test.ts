import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import type { EventFilter } from "../src/events.ts";
import { listEvents } from "../src/generated/calls.ts";
import { queryOf } from "../src/parts/events/filters.ts";
import { testClient, until } from "./clients.ts";
import { follow } from "./event-followers.ts";

describe("filters of subscriptions that share a stream", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ RATE_LIMITS: "off" });
  });
  after(() => app.close());

  // spec/events#filters
  it("select the same events as GET /events does for each filter", async (t) => {
    const [client, writer] = [testClient(app), testClient(app)];
    t.after(() => Promise.all([client.close(), writer.close()]));
    const { userId } = await client.signUp({ userName: "follower", password: "correct horse" });
    const other = await writer.signUp({ userName: "writer", password: "correct horse" });
    const [own = "", foreign = ""] = [client, writer].map(({ session }) => session?.handoff().token);

    async function call(operation: string, body?: object, token = foreign) {
      const answer = await app.call(operation, { token, ...(body && { body }) });
      assert.ok(answer.status < 300, answer.text);
      return answer.body.result;
    }

    const old = await call("POST /checkins", { location: "1,1", readPermissions: "App", tag: "old" });
    const filters: EventFilter[] = [
      {},
      { types: ["*"] },
      { types: ["CheckIn.*" as never] }, // as the service, in any case
      { types: ["checkin.created", "metadata.changed"] },
      // More patterns together than one connection may request
      ...(["checkin", "location", "picture", "video", "blob", "metadata", "user"] as const).flatMap((kind) =>
        (["changed", "deleted"] as const).map((what) => ({ types: [`${kind}.${what}` as const] })),
      ),
      ...(["location", "picture", "video", "blob"] as const).map((kind) => ({
        types: [`${kind}.created` as const, `${kind}.*` as const],
      })),
      { types: ["device.*", "identity.*", "user.signed_in"] },
      { userID: "me" },
      { userID: userId },
      { userID: other.userId },
      { userID: `usr_${"0".repeat(userId.length - 4)}` },
      { objectID: "me" },
      { objectID: "app" },
      { objectID: "current" },
      { objectID: old.id },
      { tag: "near" },
      { tag: "Near" },
      { near: { lat: 48.2, lng: 16.37, meters: 2_000 } },
      { near: { lat: 0, lng: 179.99, meters: 5_000 } },
      { box: { southWest: { lat: 48, lng: 16 }, northEast: { lat: 49, lng: 17 } } },
      { box: { southWest: { lat: -1, lng: 179 }, northEast: { lat: 1, lng: -179 } } },
      { key: "motd" },
      { keyPrefix: "mo" },
      { keyPrefix: "m%" },
      { visibility: "App" },
      { visibility: "User" },
      { visibility: "User", keyPrefix: "mo", userID: "me" },
      { types: ["checkin.*"], userID: other.userId, tag: "near" },
    ];
    const { currentToken } = await client.send(listEvents());
    const all = await Promise.all(
      filters.map(async (filter) => ({
        filter,
        subscription: await follow(client, filter),
        cursor: currentToken,
        due: [] as string[],
      })),
    );

    /** Reads what each filter selects, while the objects are as they were written. */
    async function pull(): Promise<void> {
      await Promise.all(
        all.map(async (each) => {
          const page = await client.send(listEvents({ ...queryOf(each.filter), after: each.cursor }));
          each.cursor = page.currentToken;
          each.due.push(...page.pageResults.map(({ id, type, objectID }) => `${type} ${objectID} ${id}`));
        }),
      );
      const last = all[0]?.due.at(-1);
      await until(() => all[0]?.subscription.events.at(-1)?.id === last?.split(" ")[2]);
    }

    const shared = { readPermissions: "App", location: "48.2,16.37" };
    let madeId = "";
    const writes: (() => Promise<unknown>)[] = [
      async () => {
        madeId = (await call("POST /checkins", { ...shared, tag: "near" })).id;
      },
      () => call("POST /checkins", { ...shared, location: "0,-179.99", tag: "far" }),
      () => call("POST /checkins", { location: "48.2,16.37", tag: "near" }), // private
      () => call("POST /checkins", { location: "48.2,16.37", tag: "near" }, own),
      () => call(`PATCH /checkins/${old.id}`, { comment: "new" }),
      () => call(`PATCH /checkins/${madeId}`, { location: "10,10" }),
      () => call(`DELETE /checkins/${madeId}`),
      () => call("POST /locations", { ...shared, name: "Graben" }),
      () => call("PUT /metadata/app/motd", { value: "hello", visibility: "App" }),
      () => call("PUT /metadata/me/motd", { value: 1 }, own),
      () => call("PUT /metadata/me/motd", { value: 2 }),
      () => call("PUT /metadata/me/m%25", { value: 3 }, own),
      () => call(`PUT /metadata/${old.id}/moved`, { value: true, visibility: "App" }),
      () => call("DELETE /metadata/me/motd", undefined, own),
      () => call("DELETE /metadata/app/motd?visibility=App"),
      () => call("PATCH /users/me", { firstName: "W", location: "48.2,16.37" }),
      () => call("PATCH /users/me", { firstName: "F", location: "48.2,16.37" }, own),
      () => call("POST /users/me/identities/crm", { identityId: "7" }, own),
      () => call("PATCH /users/me", { celebMode: true }),
    ];
    for (const write of writes) {
      await write();
      await pull();
    }
    assert.ok((all[0]?.due.length ?? 0) >= writes.length - 3, "most of the writes concern the user");
    for (const { filter, subscription, due } of all) {
      const told = subscription.events.map(({ id, type, objectID }) => `${type} ${objectID} ${id}`);
      const missing = due.filter((event) => !told.includes(event));
      // A deletion does not contain the object.
      const superfluous = told.filter((event) => !due.includes(event) && !/^\w+\.deleted /.test(event));
      assert.deepEqual([missing, superfluous], [[], []], JSON.stringify(filter));
    }
  });
});
