import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { ownedIdKinds, ownedTableOf } from "../src/db/owned-tables.ts";
import type { IdKind } from "../src/lib/ids.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { dataPart, png, upload } from "./uploads.ts";

/** Every kind of object that users own, against the rules of fuzzed locations (spec/privacy#fuzzed-locations). */

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
const shared = { location: truth, readPermissions: "App", writePermissions: "App" };

interface Seed {
  readonly collection: string;
  create(): Promise<{ readonly id: string }>;
}

/** Creates a shared object at the true location. */
const seeds: Partial<Record<IdKind, Seed>> = {
  Checkin: {
    collection: "checkins",
    create: async () => (await test.call("POST /checkins", { token: owner.token, body: shared })).body.result,
  },
  Location: {
    collection: "locations",
    async create() {
      const body = { ...shared, name: "Café" };
      return (await test.call("POST /locations", { token: owner.token, body })).body.result;
    },
  },
  Picture: file("pictures", () => png(2, 1)),
  Video: file("videos", async () => Buffer.from("video")),
  Blob: file("blobs", async () => Buffer.from("blob")),
};

function file(collection: string, bytes: () => Promise<Buffer>): Seed {
  return {
    collection,
    async create() {
      const { id } = await upload(test, owner.token, `/${collection}`, dataPart(await bytes()));
      const { status, text } = await test.call(`PATCH /${collection}/${id}`, { token: owner.token, body: shared });
      assert.equal(status, 200, text);
      return { id };
    },
  };
}

describe("objects of an owner with locationFuzzing", () => {
  for (const kind of ownedIdKinds) {
    it(`${kind}: no response to another user has the true location`, async () => {
      const { collection, id } = await create(kind);
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
        assert.doesNotMatch(text, /48\.2082|16\.3738/, call);
      }
      const own = await test.call(`GET /${collection}/${id}`, { token: owner.token });
      assert.deepEqual(own.body.result.location, truth);
    });

    it(`${kind}: a search near the true location finds it for its owner alone`, async () => {
      const { collection, id } = await create(kind);
      const search = `GET /${collection}?locationRange=48.2082,16.3738,400`;
      assert.doesNotMatch((await test.call(search, { token: other.token })).text, new RegExp(id));
      assert.match((await test.call(search, { token: owner.token })).text, new RegExp(id));
    });

    it(`${kind}: without its fuzzed location, it does not exist for other users`, async () => {
      const { collection, id } = await create(kind);
      const table = ownedTableOf(kind);
      assert.ok(table !== undefined);
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

async function create(kind: IdKind): Promise<{ readonly collection: string; readonly id: string }> {
  const seed = seeds[kind];
  assert.ok(seed !== undefined, `add a seed for ${kind} to "seeds" in server/test/privacy.kinds.test.ts`);
  return { collection: seed.collection, id: (await seed.create()).id };
}
