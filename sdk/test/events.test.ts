import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { subscribe } from "../src/events.ts";
import { SessionEnded } from "../src/wire/errors.ts";
import { refusal } from "./answers.ts";
import { type TestClient, testClient, until } from "./clients.ts";
import { commentsOf, follow, type RecordedSubscription, streamNetwork } from "./event-followers.ts";

const location = { lat: 48.2, lng: 16.37 };
let count = 0;

describe("subscriptions", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
  });
  after(() => app.close());

  async function signedUp(options: Parameters<typeof testClient>[1] = {}): Promise<TestClient> {
    const client = testClient(app, options);
    await client.signUp({ userName: `follower ${++count}`, password: "correct horse" });
    return client;
  }

  const streamsOf = ({ requests }: TestClient) => requests.filter((request) => request === "GET /events/stream").length;

  const withoutStreams: typeof fetch = async (input, init) =>
    String(input).includes("/events/stream") ? refusal(404, "OperationNotFound") : fetch(input, init);

  for (const [name, options] of [
    ["a stream", {}],
    ["calls that wait, where streams do not pass", { fetch: withoutStreams }],
  ] as const) {
    it(`receive events with objects in the client's types, by ${name}`, async () => {
      const client = await signedUp(options);
      const mine = await follow(client, { types: ["checkin.*"], userID: "me" });
      const { id } = await client.checkins.create({ location, comment: "Stephansplatz" });
      await until(() => mine.events.length > 0); // for a deleted object, the service sends only its deletion
      await client.checkins.change(id, { comment: "Graben" });
      await client.checkins.delete(id);
      await until(() => mine.events.at(-1)?.type === "checkin.deleted");
      assert.deepEqual(new Set(mine.events.map(({ objectID }) => objectID)), new Set([id]));
      const [created] = mine.events;
      assert.ok(created?.type === "checkin.created" && created.created instanceof Date);
      if (created.object !== undefined) assert.deepEqual(created.object.location, location);
      mine.stop();
      await client.close();
    });
  }

  it("name a missing or invalid argument", async () => {
    const client = testClient(app);
    const listener = { event: () => {} };
    for (const [values, argument] of [
      [[], "client"],
      [[{}, {}, listener], "client"],
      [[client], "options"],
      [[client, null, listener], "options"],
      [[client, { types: "checkin.*" }, listener], "types"],
      [[client, {}], "listener"],
      [[client, {}, {}], "listener"],
    ] as const) {
      const error = { name: "ConfigurationError", message: `subscribe: ${argument} is missing or wrong.` };
      assert.throws(() => Reflect.apply(subscribe, undefined, values), error);
    }
    assert.deepEqual(client.requests, []);
    await client.close();
  });

  it("continue from a cursor without a gap and without a repeat", async () => {
    const client = await signedUp();
    const first = await follow(client, { types: ["checkin.created"] });
    await client.checkins.create({ location, comment: "1" });
    await until(() => first.events.length === 1);
    const { cursor } = first;
    assert.ok(inspect(first.subscription).includes(`cursor: '${cursor}'`));
    first.stop();
    for (const comment of ["2", "3"]) await client.checkins.create({ location, comment });
    const other = await follow(client, { types: ["checkin.deleted"] });
    const second = await follow(client, { types: ["checkin.created"], after: cursor });
    await client.checkins.create({ location, comment: "4" });
    await until(() => second.events.length >= 3);
    assert.deepEqual(
      second.events.map((event) => event.type === "checkin.created" && event.object?.comment),
      ["2", "3", "4"],
    );
    assert.equal(other.events.length, 0);
    await client.close();
  });

  it("share one connection, however many they are and however they differ", async () => {
    const client = await signedUp();
    const tags = Array.from({ length: 25 }, (_, index) => `tag ${index}`);
    const all: RecordedSubscription[] = [];
    for (const tag of tags) all.push(await follow(client, { types: ["checkin.created"], tag }));
    const before = streamsOf(client);
    for (const tag of tags) await client.checkins.create({ location, tag });
    await until(() => all.every(({ events }) => events.length > 0));
    for (const [index, { events }] of all.entries()) {
      assert.deepEqual(
        events.map((event) => event.type === "checkin.created" && event.object?.tag),
        [tags[index]],
      );
    }
    const again = await follow(client, { types: ["checkin.created"], tag: "tag 7" });
    assert.equal(streamsOf(client), before);
    again.stop();
    await client.close();
  });

  it("lose no event when the connection breaks", async () => {
    const network = streamNetwork();
    const client = await signedUp({ fetch: network.fetch });
    const writer = testClient(app);
    const { token = "" } = client.session?.handoff() ?? {};
    const mine = await follow(client, { types: ["checkin.created"] });
    network.isOff = true;
    network.cut();
    const { status } = await app.call("POST /checkins", { token, body: { location: "48.2,16.37", comment: "missed" } });
    assert.equal(status, 201);
    network.isOff = false;
    await until(() => mine.events.length === 1);
    assert.equal(streamsOf(client) > 1, true);
    assert.deepEqual(mine.told, ["ready"]);
    await Promise.all([client.close(), writer.close()]);
  });

  it("are reset when the service no longer accepts the cursor", async () => {
    const client = await signedUp();
    const mine = await follow(client, { after: "nonsense" });
    assert.deepEqual(mine.told, ["reset: cursor", "ready"]);
    await client.close();
  });

  it("are reset by long polls when the log was restarted, and continue from there", async () => {
    const client = await signedUp({ fetch: withoutStreams });
    const mine = await follow(client, { types: ["checkin.*"] });
    const { database } = app.app;
    await database.write(({ queries }) => queries.updateTable("event_logs").set({ name: "restored" }).execute());
    await client.checkins.create({ location, comment: "ends the call that waits" });
    await until(() => mine.told.includes("reset: unknown"));
    await client.checkins.create({ location, comment: "after the reset" });
    await until(() => commentsOf(mine).at(-1) === "after the reset");
    assert.deepEqual(
      mine.told.filter((each) => each !== "ready"),
      ["reset: unknown"],
    );
    await client.close();
  });

  it("stop when their user signs out and when the client is closed", async () => {
    const client = await signedUp();
    const mine = await follow(client);
    await client.session?.signOut();
    await until(() => mine.errors.length === 1);
    assert.ok(mine.errors[0] instanceof SessionEnded);
    const ofDevice = await follow(client);
    await client.close();
    await until(() => ofDevice.errors.length === 1);
  });

  it("stop without affecting others when the service repeatedly refuses their filter", async () => {
    const client = await signedUp();
    const good = await follow(client, { types: ["checkin.created"] });
    for (let times = 0; times < 2; times += 1) {
      const wrong = await follow(client, { types: ["nothing.*" as never] });
      assert.match(String(wrong.errors[0]), /ParameterIncorrectFormat/);
    }
    await client.checkins.create({ location });
    await until(() => good.events.length === 1);
    assert.deepEqual([good.told, good.errors], [["ready"], []]);
    await client.close();
  });

  it("fail with the error of the service when a filter is invalid", async () => {
    const client = await signedUp();
    const wrong = await follow(client, { types: ["nothing.*" as never] });
    assert.match(String(wrong.errors[0]), /ParameterIncorrectFormat/);
    const right = await follow(client, { types: ["checkin.*"] });
    assert.deepEqual(right.told, ["ready"]);
    await client.close();
  });
});
