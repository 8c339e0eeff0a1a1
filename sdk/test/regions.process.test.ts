import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { NewApplication } from "../../server/src/applications/applications.store.ts";
import { createRegions, type TestRegion } from "../../server/test/regions.ts";
import { killRunningServers } from "../../server/test/running-server.ts";
import { getDevice } from "../src/generated/calls.ts";
import type { RollcallOptions } from "../src/options.ts";
import { ConnectionError } from "../src/wire/errors.ts";
import { type TestClient, testClient } from "./clients.ts";

/** An application moves from one region to another while clients of it are signed in (spec/regions#moving-what-clients-see). */

let main: TestRegion;
let eu: TestRegion;
let remove: () => Promise<void>;
let application: NewApplication;
before(async () => {
  const made = await createRegions(["main", "eu"]);
  ({ main, eu } = made.regions);
  remove = made.remove;
  const patient = { REGION_TIMEOUT_MS: "60000" }; // a busy machine must not fail the test
  await Promise.all([main.start(patient), eu.start(patient)]);
  application = JSON.parse(await main.printed("apps", "create", "--name", "Moving", "--region", "eu", "--json"));
});
after(async () => {
  killRunningServers();
  await remove();
});

const password = "correct horse";
const location = { lat: 48.2, lng: 16.37 };
/** A further address of the main region, which its own answers do not name. */
const alias = "http://127.0.0.1:9";

interface Traveller extends TestClient {
  /** The requests: method, region and path. */
  readonly routes: string[];
  isAliasUp: boolean;
}

function createTraveller(url: string, options: Partial<RollcallOptions> = {}): Traveller {
  const routes: string[] = [];
  const network: typeof fetch = async (input, init) => {
    const { origin, pathname } = new URL(`${input}`);
    const region = { [main.root]: "main", [eu.root]: "eu", [alias]: "alias" }[origin];
    routes.push(`${init?.method ?? "GET"} ${region} ${pathname}`);
    if (origin === alias && !traveller.isAliasUp) throw new TypeError("fetch failed");
    const headers = new Headers(init?.headers);
    headers.set("connection", "close"); // a call without retries must not fail because a region closes an idle connection
    return fetch(`${input}`.replace(alias, main.root), { ...init, headers });
  };
  const client = testClient({ url, application }, { ...options, retry: false, fetch: network });
  const traveller: Traveller = Object.assign(Object.create(client), { routes, isAliasUp: true });
  return traveller;
}

describe("a client of an application that moves to another region", () => {
  let client: Traveller;
  let withRoot: Traveller;
  let withoutRoot: Traveller;

  it("registers at its configured address, and sends all other calls to the region of the application", async () => {
    client = createTraveller(main.root);
    const session = await client.signUp({ userName: "ada", password });
    await client.checkins.create({ location, comment: "before" });
    assert.deepEqual(client.routes, ["POST main /devices", "POST eu /users", "POST eu /checkins"]);
    assert.equal(session.handoff().root, eu.root);
    withRoot = createTraveller(alias, { roots: [main.root] });
    withoutRoot = createTraveller(alias);
    for (const other of [withRoot, withoutRoot]) {
      await other.send(getDevice());
      assert.deepEqual(other.routes, ["POST alias /devices", "GET eu /devices/current"]);
    }
  });

  it("signs users out as moved, registers again at its configured address, and signs in to the same data", async () => {
    const before = client.session?.userId;
    await eu.printed("apps", "move", application.appid, "--region", "main");
    for (const each of [client, withRoot, withoutRoot]) {
      each.routes.length = 0;
      each.events.length = 0;
    }
    await assert.rejects(client.users.me(), { name: "SessionEnded" });
    assert.equal(client.session, null);
    assert.deepEqual([client.sessions[0]?.state, client.sessions[0]?.reason], ["ended", "moved"]);
    const { userId } = await client.signIn({ userName: "ada", password });
    assert.equal(userId, before);
    const { items } = await client.checkins.search();
    assert.deepEqual(
      items.map(({ comment }) => comment),
      ["before"],
    );
    assert.deepEqual(client.routes, [
      "GET eu /users/me",
      "POST eu /users/login",
      "POST main /devices",
      "POST main /users/login",
      "GET main /checkins",
    ]);
    assert.ok(client.events.includes("rootChanged"));
    assert.ok(client.events.indexOf("sessionEnded") < client.events.indexOf("signedIn"));
  });

  it("sends its key to a region from a response only if the app allows it, even while its configured address is down", async () => {
    withRoot.isAliasUp = false;
    withoutRoot.isAliasUp = false;
    await withRoot.send(getDevice());
    assert.deepEqual(withRoot.routes, [
      "GET eu /devices/current",
      "POST alias /devices",
      "POST main /devices",
      "GET main /devices/current",
    ]);
    await assert.rejects(withoutRoot.send(getDevice()), ConnectionError);
    assert.deepEqual(withoutRoot.routes, ["GET eu /devices/current", "POST alias /devices"]);
    withoutRoot.isAliasUp = true;
    await withoutRoot.send(getDevice());
    assert.deepEqual(withoutRoot.routes.slice(-2), ["POST alias /devices", "GET alias /devices/current"]);
    await Promise.all([client, withRoot, withoutRoot].map((each) => each.close()));
  });
});
