import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { type OwnedIdKind, ownedIdKinds, ownedKinds } from "../src/lib/kinds.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { createOwnedObject } from "./owned-seeds.ts";

/**
 * Every kind of object that users own: its fuzzed locations (spec/privacy#fuzzed-locations), its events, and the
 * operators' search.
 */

let test: TestApp;
let owner: TestUser;
let other: TestUser;
before(async () => {
  test = await startTestApp();
  [owner, other] = [await test.signUp(), await test.signUp()];
  await test.call("PATCH /users/me", { token: owner.token, body: { locationFuzzing: true } });
});
after(() => test.close());

const truth = { lat: 48.2082, lng: 16.3738 };
/**
 * Matches either number, exactly or with more digits; after a shift straight north, the longitude may start like the
 * true one.
 */
const trueNumber = /(?:48\.2082|16\.3738)(?:0{5}|(?!\d))/;
const shared = { location: truth, readPermissions: "App", writePermissions: "App" };

/** Creates a shared object at the true location, and sends the same location again. */
async function createShared(kind: OwnedIdKind): Promise<{ readonly id: string }> {
  const { id } = await createOwnedObject(test, owner.token, kind, shared);
  const path = `/${ownedKinds[kind].collection}/${id}`;
  const { status, text } = await test.call(`PATCH ${path}`, { token: owner.token, body: shared });
  assert.equal(status, 200, text);
  return { id };
}

describe("objects of an owner with locationFuzzing", () => {
  for (const kind of ownedIdKinds) {
    const { collection, table } = ownedKinds[kind];
    it(`${kind}: no response to another user contains the true location`, async () => {
      const { id } = await createShared(kind);
      const calls = [
        `GET /${collection}/${id}`,
        `GET /${collection}?sortOrder=-lastModified`,
        `GET /${collection}?userID=${owner.id}`,
        `GET /${collection}?locationRange=48.2082,16.3738,5000&sortOrder=distance`,
        `PATCH /${collection}/${id}`,
      ];
      for (const call of calls) {
        const { status, text } = await test.call(call, { token: other.token });
        assert.equal(status, 200, text);
        assert.ok(text.includes(id), call);
        assert.doesNotMatch(text, trueNumber, call);
      }
      const own = await test.call(`GET /${collection}/${id}`, { token: owner.token });
      assert.deepEqual(own.body.result.location, truth);
      assert.match(own.text, trueNumber);
    });

    // spec/events#form, spec/events#operators-view
    it(`${kind}: the events of its creation contain it as their object, for its owner and for operators`, async () => {
      const { currentToken } = (await test.call("GET /events", { token: owner.token })).body.result;
      const { id } = await createShared(kind);
      const events = (await test.call(`GET /events?after=${currentToken}`, { token: owner.token })).body.result
        .pageResults;
      const root = `/_/api/applications/${test.application.appid}`;
      const { token } = await test.createOperator();
      const operated = (await test.call(`GET ${root}/events?objectID=${id}`, { token })).body.result.pageResults;
      for (const { type, objectID, object } of [...events, ...operated]) {
        assert.ok(type.startsWith(`${kind.toLowerCase()}.`), type);
        assert.deepEqual([objectID, object.id], [id, id]);
      }
      assert.ok(events.length > 0 && operated.length > 0);
    });

    // spec/operators#search-for-anything
    it(`${kind}: operators find it by its id, in its application and in the deployment`, async () => {
      const { id } = await createShared(kind);
      const { appid } = test.application;
      const { token } = await test.createOperator();
      const inApplication = (await test.call(`GET /_/api/applications/${appid}/search?q=${id}`, { token })).body.result;
      assert.equal(inApplication[table][0].id, id);
      const { applications } = (await test.call(`GET /_/api/search?q=${id}`, { token })).body.result;
      assert.deepEqual([applications[0].id, applications[0].match], [appid, "object"]);
    });

    it(`${kind}: a search near the true location finds it only for its owner`, async () => {
      const { id } = await createShared(kind);
      const search = `GET /${collection}?locationRange=48.2082,16.3738,400`;
      assert.doesNotMatch((await test.call(search, { token: other.token })).text, new RegExp(id));
      assert.match((await test.call(search, { token: owner.token })).text, new RegExp(id));
    });

    it(`${kind}: without its fuzzed location, it does not exist for other users`, async () => {
      const { id } = await createShared(kind);
      await test.app.database.write(({ queries }) =>
        sql`update ${sql.table(table)} set seen_lat = null, seen_lng = null where id = ${id}`.execute(queries),
      );
      const body = { value: 1 };
      const calls = [`GET /${collection}/${id}`, `PATCH /${collection}/${id}`, `DELETE /${collection}/${id}`];
      for (const call of [...calls, `PUT /metadata/${id}/key`, `GET /metadata/${id}`]) {
        const { status } = await test.call(call, { token: other.token, ...(call.startsWith("PUT") && { body }) });
        assert.equal(status, 404, call);
      }
      for (const query of ["", `?userID=${owner.id}`, "?locationRange=48.2082,16.3738,5000"]) {
        const { text } = await test.call(`GET /${collection}${query}`, { token: other.token });
        assert.doesNotMatch(text, new RegExp(id), query);
      }
    });
  }
});
