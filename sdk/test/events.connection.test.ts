import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { NewApplication } from "../../server/src/applications/applications.store.ts";
import { createEventLog } from "../../server/src/event-log/event-log.ts";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { systemClock } from "../src/lib/clock.ts";
import type { RollcallOptions } from "../src/options.ts";
import { type TestClient, testClient, until } from "./clients.ts";
import { commentsOf, follow, streamNetwork } from "./event-followers.ts";

const location = { lat: 48.2, lng: 16.37 };
const minuteMs = 60_000;
/** Several heartbeats, on a slow machine as well. */
const stallMs = 2_000;

/** A proxy that passes an answer on once it is complete, as one does that examines answers. */
async function startBufferingProxy({ port }: TestApp) {
  const server = createServer((incoming, answer) => {
    const { method, url: path, headers } = incoming;
    const outgoing = request({ port, host: "127.0.0.1", method, path, headers, agent: false }, async (response) => {
      const chunks = await response.toArray().catch(() => undefined);
      if (chunks === undefined) return answer.destroy();
      const body = Buffer.concat(chunks);
      return answer.writeHead(response.statusCode ?? 502, { "content-type": "application/json" }).end(body);
    });
    outgoing.on("error", () => answer.destroy());
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** They wait for each other's time limits, so they run side by side. */
describe("the connection of subscriptions", { concurrency: true }, () => {
  let app: TestApp;
  let operatorToken: string;
  before(async () => {
    app = await startTestApp({ STREAM_HEARTBEAT_MS: "100", RATE_LIMITS: "off" });
    operatorToken = (await app.createOperator()).token;
  });
  after(() => app.close());

  interface Follower {
    readonly client: TestClient;
    readonly application: NewApplication;
    /** Writes without the client, whose network may be down. */
    checkIn(comment: string): Promise<void>;
  }

  /** Creates a user in a separate application. */
  async function createFollower(
    options: Partial<RollcallOptions> = {},
    clock = systemClock,
    settings?: object,
  ): Promise<Follower> {
    const application = await app.createApplication();
    const path = `PATCH /_/api/applications/${application.appid}/settings`;
    if (settings) assert.equal((await app.call(path, { token: operatorToken, body: settings })).status, 200);
    const client = testClient({ url: app.url, application }, options, clock);
    await client.signUp({ userName: "follower", password: "correct horse" });
    return {
      client,
      application,
      async checkIn(comment) {
        const { token = "" } = client.session?.handoff() ?? {};
        const body = { location: "48.2,16.37", comment };
        assert.equal((await app.call("POST /checkins", { token, body })).status, 201);
      },
    };
  }

  const countOf = ({ requests }: TestClient, path: string) =>
    requests.filter((request) => request === `GET ${path}`).length;

  // spec/streams#heartbeats
  it("falls back to long polling where a proxy buffers streams (events.md E10)", async () => {
    const proxy = await startBufferingProxy(app);
    const { client } = await createFollower({
      fetch: (input, init) => fetch(`${input}`.replace(app.url, proxy.url), init),
    });
    const mine = await follow(client, { types: ["checkin.*"] });
    for (const comment of ["1", "2"]) {
      await client.checkins.create({ location, comment });
      await until(() => commentsOf(mine).at(-1) === comment);
    }
    assert.deepEqual(commentsOf(mine), ["1", "2"]);
    assert.equal(countOf(client, "/events/stream"), 1);
    await client.close();
    proxy.close();
  });

  it("falls back to long polling where streams open but deliver no events", async () => {
    const network = streamNetwork();
    network.silent = Number.POSITIVE_INFINITY;
    const { client, checkIn } = await createFollower({ fetch: network.fetch, timeouts: { stallMs } });
    const mine = await follow(client, { types: ["checkin.*"] });
    await checkIn("1");
    await until(() => commentsOf(mine).length === 1);
    assert.deepEqual(mine.told, ["ready"]);
    assert.equal(countOf(client, "/events/stream"), 2);
    await client.close();
  });

  it("reconnects after a silent stream, without losing an event", async () => {
    const network = streamNetwork();
    network.silent = 1;
    const { client, checkIn } = await createFollower({ fetch: network.fetch, timeouts: { stallMs } });
    const mine = await follow(client, { types: ["checkin.*"] });
    for (const comment of ["1", "2", "3"]) await checkIn(comment);
    await until(() => commentsOf(mine).length === 3);
    assert.deepEqual(commentsOf(mine), ["1", "2", "3"]);
    assert.deepEqual(mine.told, ["ready"]);
    assert.equal(countOf(client, "/events"), 0);
    await client.close();
  });

  it("returns to a stream after an outage in which calls also failed", async () => {
    const network = streamNetwork();
    const { client, checkIn } = await createFollower({ fetch: network.fetch });
    const mine = await follow(client, { types: ["checkin.*"] });
    network.isOff = true;
    network.cut();
    await checkIn("missed");
    await until(() => countOf(client, "/events") > 0);
    network.isOff = false;
    const streams = countOf(client, "/events/stream");
    const other = await follow(client, { types: ["location.*"] }); // connects immediately
    await until(() => commentsOf(mine).length === 1);
    assert.ok(countOf(client, "/events/stream") > streams);
    assert.deepEqual([mine.told, other.told], [["ready"], ["ready"]]);
    await client.close();
  });

  // spec/streams#revoked-tokens
  it("outlives the token of its user, which the client renews without another call of the app", async () => {
    let passedMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + passedMs };
    const settings = { tokenLifetimes: { userMs: 60 * minuteMs } };
    const { client, checkIn } = await createFollower({}, clock, settings);
    const mine = await follow(client, { types: ["checkin.*"] });
    const advance = (ms: number) => {
      passedMs += ms;
      app.advance(ms);
    };
    advance(31 * minuteMs);
    await until(() => client.events.includes("renewed"));
    await checkIn("with the old token's stream");
    await until(() => commentsOf(mine).length === 1);
    assert.equal(countOf(client, "/events/stream"), 1);
    advance(30 * minuteMs);
    await until(() => countOf(client, "/events/stream") === 2);
    await checkIn("with the new token's stream");
    await until(() => commentsOf(mine).length === 2);
    assert.deepEqual([mine.told, mine.errors], [["ready"], []]);
    await client.close();
  });

  // spec/streams#reset-a-stream
  for (const [reason, damage] of Object.entries({
    expired: async (appid: string) => {
      const small = createEventLog(
        { databaseTimeoutMs: 20_000, eventsRowsMax: 1, eventsBacklogMax: 1_000 },
        { ...app.app, secrets: ["a secret"] },
      );
      for (let rounds = 0; rounds < 2; rounds += 1) await small.maintain(appid);
    },
    log: async (appid: string) => {
      await app.app.eventLog.settle(appid); // an event that gets its position now would continue the log
      await app.app.database.write(({ queries }) =>
        queries.deleteFrom("events").where("application_id", "=", appid).where("position", ">", 0).execute(),
      );
    },
  })) {
    it(`is reset when the log no longer contains the missed events: ${reason}`, async () => {
      const network = streamNetwork();
      const { client, application, checkIn } = await createFollower({ fetch: network.fetch });
      const mine = await follow(client, { types: ["checkin.*"] });
      await checkIn("before");
      await until(() => commentsOf(mine).length === 1);
      network.isOff = true;
      network.cut();
      for (const comment of ["1", "2", "3"]) await checkIn(comment);
      await damage(application.appid);
      network.isOff = false;
      await until(() => mine.told.length === 2);
      assert.deepEqual(mine.told, ["ready", `reset: ${reason}`]);
      await checkIn("after");
      await until(() => commentsOf(mine).length === 2);
      assert.deepEqual(commentsOf(mine), ["before", "after"]);
      await client.close();
    });
  }
});
