import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CompiledQuery, type QueryResult, sql } from "kysely";
import { findImpact } from "../src/applications/applications.impact.store.ts";
import { insertCountedHour, listStoredCounts } from "../src/audit/audit.counts.ts";
import { newAuditRow } from "../src/audit/audit.events.ts";
import { type AuditFilters, insertAuditRows, listAuditRows } from "../src/audit/audit.store.ts";
import { checkinKind, checkinOrders } from "../src/checkins/checkins.contract.ts";
import type { Queries } from "../src/db/database.ts";
import { readPage } from "../src/db/search/page.ts";
import { type CellEntry, entriesOf, rowsByCell, rowsByTie, rowsInCells } from "../src/db/search/scope.ts";
import { rowsGatheredMax, type Search, searchPage } from "../src/db/search/search.ts";
import type { OwnedRow } from "../src/db/tables.ts";
import { listCrashDays } from "../src/devices/devices.crash-days.store.ts";
import { listCrashGroups } from "../src/devices/devices.crash-groups.store.ts";
import { listCrashReports } from "../src/devices/devices.crash-reports.store.ts";
import { findSignedInUsers, operatedDeviceSearch } from "../src/devices/devices.operator.routes.ts";
import { findLogEnd, listEvents } from "../src/event-log/log-rows.store.ts";
import { fileKinds } from "../src/files/files.kinds.ts";
import type { Position } from "../src/lib/keyset.ts";
import { spans, startOf } from "../src/lib/spans.ts";
import { locationKind } from "../src/locations/locations.contract.ts";
import { flagsStream } from "../src/locations/locations.flags.store.ts";
import { itemOrders } from "../src/metadata/metadata.contract.ts";
import { findItem } from "../src/metadata/metadata.reads.store.ts";
import { itemSearch } from "../src/metadata/metadata.search.ts";
import { Cell, writeRollup } from "../src/metrics/engine/rollups.ts";
import { rollupId, seriesOf } from "../src/metrics/engine/row-ids.ts";
import { readDailyCounts } from "../src/metrics/metrics.operator.routes.ts";
import { findInApplication, findInDeployment } from "../src/operators/search.store.ts";
import { operatedSearch, ordersOf, ownedSearch } from "../src/owned/search.ts";
import { listMarkers, listNewCrashes } from "../src/statistics/statistics.events.store.ts";
import { userOrders } from "../src/users/users.contract.ts";
import { usersOfDevice } from "../src/users/users.devices.operator.routes.ts";
import { operatedUserOrders } from "../src/users/users.operator.contract.ts";
import { operatedUserSearch } from "../src/users/users.operator.routes.ts";
import { userSearch } from "../src/users/users.routes.ts";
import { listErasedUsers, listUnfinishedUsers } from "../src/users/users.store.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { valuesOf } from "./rounds.ts";
import { checkinRow, fileRow, insertCheckins, insertFiles, insertLocations, locationRow } from "./rows.ts";

/**
 * How the engines execute the statements of searches. The plans are those for 10,000 check-ins, with statistics on
 * PostgreSQL and without on SQLite, as in production.
 */

let test: TestApp;
let me: TestUser;
let other: TestUser;
let hasCostPlanner: boolean;
/** SQLite has no statistics, so that its plans are the same for fewer rows. */
let rowsTotal: number;
before(async () => {
  test = await startTestApp();
  hasCostPlanner = test.app.database.dialect.hasRowLocks;
  rowsTotal = hasCostPlanner ? 10_000 : 2_000;
  [me, other] = [await test.signUp(), await test.signUp()];
  const owners = [me, other, await test.signUp()];
  const { appid } = test.application;
  const rows = Array.from({ length: rowsTotal }, (_, n) =>
    checkinRow({
      application_id: appid,
      id: test.app.ids.newId("Checkin"),
      user_id: owners[n % 3]?.id ?? "",
      created_at: n,
      modified_at: 990_000 + ((n * 7) % 10_000),
      tag: ["a", "b", null, "d"][n % 4] ?? null,
      comment: n % 7 < 3 ? null : `comment ${n % 7 < 6 ? 1 : 2}`,
      description: n % 11 < 5 ? "description 1" : null,
      read_permission: n % 5 < 3 ? 1 : 0,
      lat: n % 90,
      lng: n % 180,
    }),
  );
  await insertCheckins(test, rows);
  const found = await test.app.database.reads.selectFrom("users").selectAll().where("id", "=", me.id).execute();
  const user = found[0];
  assert.ok(user !== undefined);
  for (let start = 0; start < rowsTotal / 2; start += 500) {
    const users = Array.from({ length: 500 }, (_, index) => {
      const n = start + index;
      return {
        ...user,
        id: test.app.ids.newId("User"),
        user_name: `name ${n}`,
        user_name_key: `name ${n}`,
        email: `email ${n % 4}`,
        first_name: `first ${n % 3}`,
        last_name: n % 2 === 0 ? null : `last ${n % 3}`,
        gender: [null, 0, 1, 2][n % 4] ?? null,
        created_at: n,
        modified_at: 990_000 + ((n * 7) % 10_000),
      };
    });
    await test.app.database.write(({ queries }) => queries.insertInto("users").values(users).execute());
  }
  for (let start = 0; start < rowsTotal; start += 500) {
    const items = Array.from({ length: 500 }, (_, index) => {
      const n = start + index;
      const located = n % 2 === 0 ? { lat: n % 90, lng: n % 180, cell: n, seen_cell: n } : {};
      const bag = { application_id: appid, object_id: n % 3 === 0 ? me.id : appid, slot: n % 5 < 3 ? "" : me.id };
      const times = { created_at: n, modified_at: 990_000 + ((n * 7) % 10_000) };
      return { ...bag, key: `${n % 4} key ${n}`, number: n, ...located, ...times };
    });
    await test.app.database.write(({ queries }) => queries.insertInto("metadata").values(items).execute());
  }
  const files = Array.from({ length: rowsTotal }, (_, n) =>
    fileRow({
      application_id: appid,
      id: test.app.ids.newId("Video"),
      kind: n % 4 === 3 ? "Picture" : "Video",
      user_id: owners[n % 3]?.id ?? "",
      title: n % 7 < 3 ? null : `title ${n % 7 < 6 ? 1 : 2}`,
      detail: n % 11 < 5 ? "encoding 1" : null,
      label: n % 10 < 3 ? null : `name ${n % 10 < 6 ? 1 : n}`,
      bit_rate: n % 13 < 4 ? null : n % 13 < 7 ? 128_000 : n,
      length_in_seconds: n % 11 < 3 ? null : n % 11 < 6 ? 1.5 : n / 8,
      thumbnail_id: n % 9 < 3 ? null : `pic ${n % 9 < 6 ? 1 : n}`,
      tag: ["a", "b", null, "d"][n % 4] ?? null,
      read_permission: n % 5 < 3 ? 1 : 0,
      created_at: n,
      modified_at: 990_000 + ((n * 7) % 10_000),
    }),
  );
  await insertFiles(test, files);
  const locations = Array.from({ length: rowsTotal }, (_, n) => {
    const texts = locationKind.fields.map(({ column }) => [column, `${column} ${n % 4}`] as const);
    return locationRow({
      ...Object.fromEntries(texts.filter((_, at) => (n + at) % 7 < 5)),
      name: `name ${n % 4}`,
      application_id: appid,
      id: test.app.ids.newId("Location"),
      user_id: n % 10 === 0 ? null : (owners[n % 3]?.id ?? ""),
      tag: ["a", "b", null, "d"][n % 4] ?? null,
      read_permission: n % 10 === 0 || n % 5 < 3 ? 1 : 0,
      lat: n % 90,
      lng: n % 180,
      created_at: n,
      modified_at: 990_000 + ((n * 7) % 10_000),
    });
  });
  await insertLocations(test, locations);
  const flags = locations.map(({ application_id, id: object_id, created_at }, n) => {
    const id = test.app.ids.newId("LocationFlag");
    const flag = { application_id, id, object_id, created_at, modified_at: created_at, reason: null, comment: null };
    return { ...flag, user_id: owners[n % 3]?.id ?? "" };
  });
  for (let start = 0; start < rowsTotal; start += 500) {
    const some = flags.slice(start, start + 500);
    await test.app.database.write(({ queries }) => queries.insertInto("location_flags").values(some).execute());
  }
  if (hasCostPlanner) await sql`analyze`.execute(test.app.database.reads);
});
after(() => test.close());

interface Answer {
  readonly plan: string;
  readonly result: QueryResult<unknown>;
}

/** Responses to the statements that gather rows for sorting, which are the same for every page and every order. */
const gathered = new Map<string, Promise<Answer>>();

/** Runs statements, and records the plan of each. */
function explaining(explained: Omit<Explained, "what">[]): Queries {
  const { reads } = test.app.database;
  const explain = hasCostPlanner ? "explain" : "explain query plan";
  async function answer(query: CompiledQuery): Promise<Answer> {
    const found = await reads.executeQuery(CompiledQuery.raw(`${explain} ${query.sql}`, [...query.parameters]));
    const rows = found.rows as Record<string, unknown>[]; // one column on PostgreSQL, several on SQLite
    const plan = rows.map((row) => row["detail"] ?? row["QUERY PLAN"]).join("\n");
    return { plan, result: await reads.executeQuery(query) };
  }
  async function executeQuery(query: CompiledQuery) {
    const { sql, parameters } = query;
    const { plan, result } = await (isGathering(query)
      ? gathered.getOrInsertComputed(JSON.stringify([sql, parameters]), () => answer(query))
      : answer(query));
    explained.push({ plan, parameters });
    return result;
  }
  return new Proxy(reads, {
    get(target, name) {
      if (name === "executeQuery") return executeQuery;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface Explained {
  readonly what: string;
  readonly plan: string;
  readonly parameters: readonly unknown[];
}

/** Returns the plans of the first page of a search, and of distant pages in both directions. */
async function explainPages<Row extends { readonly id: string }>(
  what: string,
  search: Search<Row>,
): Promise<Explained[]> {
  const inside = await searchPage(search, { at: "offset", offset: 30 }, 10, explaining([]));
  const row = inside.rows.at(-1);
  assert.ok(row !== undefined, what);
  const key = inside.keyOf(row);
  const explained: Explained[] = [];
  const positions: readonly Position[] = [{ at: "start" }, { at: "end" }, { at: "after", key }, { at: "before", key }];
  for (const position of positions) {
    const plans: Omit<Explained, "what">[] = [];
    await searchPage(search, position, 10, explaining(plans));
    assert.ok(plans.length > 0);
    explained.push(...plans.map((plan) => ({ what: `${what} ${position.at}`, ...plan })));
  }
  return explained;
}

/** The bags under test: shared ones, and own ones. */
function bags() {
  const { appid: applicationId } = test.application;
  return [
    { applicationId, objectId: applicationId, slot: "" },
    { applicationId, objectId: me.id, slot: me.id },
  ];
}

const isGathering = ({ parameters }: Pick<Explained, "parameters">) => parameters.includes(rowsGatheredMax + 1);
const isDeep = (each: Pick<Explained, "what" | "parameters">) =>
  / (after|before)$/.test(each.what) && !isGathering(each);

function assertWalked(explained: readonly Explained[], maySortFew = false): void {
  for (const each of explained) {
    const { what, plan } = each;
    const isOneRow = /\(application_id=\? AND id=\?\)|users_pkey on users {2}|user_name_key = '/.test(plan);
    if (isOneRow) continue;
    const message = `${what}:\n${plan}`;
    if (hasCostPlanner) {
      assert.doesNotMatch(plan, maySortFew || isGathering(each) ? /Seq Scan/ : /Sort|Seq Scan|Bitmap/, message);
      assert.match(plan, /Index Cond: \(+application_id = /, message);
      if (isDeep(each)) assert.match(plan.split("SubPlan")[0] ?? "", / (<|>|<=|>=) |user_name_key = /, message);
    } else {
      assert.doesNotMatch(plan, /TEMP B-TREE|SCAN/, message);
      assert.match(plan, /^SEARCH \w+ USING (PRIMARY KEY|INDEX \w+) \(application_id=\?/, message);
      // An equality with an expression counts like a row comparison, or like the bound of the remaining rows.
      if (isDeep(each))
        assert.match(
          plan,
          /\((created_at|modified_at|last_login_at),(id|key)\)[<>]\(\?,\?\)|<expr>[<>]\?|(user_name_key|key)[<>=]/,
          message,
        );
    }
  }
}

// spec/search#search-work
describe("the statements of a search walk an index in the order of the listing", () => {
  const bothWays = <Name extends string>(names: readonly Name[]) =>
    names.flatMap((name) => [name, `-${name}`] as const);
  const ofEveryOwner = <Filter extends object>(filters: readonly Filter[]) =>
    filters.flatMap((filter) => [filter, { ...filter, userID: "me" }, { ...filter, userID: other.id }]);

  const filters = [{}, { tag: "a" }, { comment: "comment 1" }, { description: "description 1", tag: "b" }];
  for (const [turn, sortOrder] of bothWays(checkinOrders).entries()) {
    it(`GET /checkins, sortOrder ${sortOrder}`, async () => {
      for (const filter of valuesOf(ofEveryOwner(filters), turn)) {
        const given = { ...filter, sortOrder };
        const search = ownedSearch(checkinKind, test.application.appid, me.id, given);
        const explained = await explainPages(JSON.stringify(given), search);
        assertWalked(explained);
        // Not the index of operators, which contains all rows.
        for (const { what, plan } of explained) assert.match(plan, /checkins_(own|shared)_/, what);
      }
    });
  }

  it("GET /checkins in a large area reads only rows whose cell matches in the index", async () => {
    const locationRange = { shape: "circle", center: { lat: 45, lng: 90 }, radiusMeters: 5_000_000 } as const;
    const search = ownedSearch(checkinKind, test.application.appid, me.id, { locationRange });
    const explained = await explainPages("in a large area", search);
    const walks = explained.filter(({ plan }) => /checkins_(own|shared)_created/.test(plan));
    assert.ok(walks.length >= 8, "each page walks both scopes");
    for (const { what, plan } of explained) {
      const message = `${what}:\n${plan}`;
      assert.doesNotMatch(plan, /Seq Scan on checkins|SCAN checkins/, message);
    }
    if (!hasCostPlanner) {
      for (const { what, plan } of walks) {
        assert.match(plan, /USING COVERING INDEX checkins_(own|shared)_created/, `${what}:\n${plan}`);
      }
    }
  });

  const videoOrders = [
    ...(["created", "lastModified", "tag", "title", "encoding"] as const),
    ...(["bitRate", "lengthInSeconds", "thumbnailID", "friendlyName"] as const),
  ];
  for (const [turn, sortOrder] of bothWays(videoOrders).entries()) {
    it(`GET /videos, sortOrder ${sortOrder}`, async () => {
      const numbers = [{ bitRate: 128_000 }, { lengthInSeconds: 1.5 }];
      const texts = [{ tag: "a" }, { title: "title 1" }, { thumbnailID: "pic 1" }, { friendlyName: "name 1" }];
      const filters = [{}, ...texts, ...numbers];
      for (const filter of valuesOf(ofEveryOwner(filters), turn)) {
        const given = { ...filter, sortOrder };
        const search = ownedSearch(fileKinds[1], test.application.appid, me.id, given);
        const explained = await explainPages(JSON.stringify(given), search);
        assertWalked(explained);
        for (const { what, plan } of explained) assert.match(plan, /(files|videos)_(own|shared)_/, what);
      }
    });
  }

  for (const [turn, sortOrder] of bothWays(ordersOf(locationKind)).entries()) {
    it(`GET /locations, sortOrder ${sortOrder}`, async () => {
      const filters = [...ofEveryOwner([{}]), { city: "city 1" }, { userID: "me", category: "category 0", tag: "a" }];
      for (const filter of valuesOf(filters, turn)) {
        const given = { ...filter, sortOrder };
        const search = ownedSearch(locationKind, test.application.appid, me.id, given);
        const explained = await explainPages(JSON.stringify(given), search);
        // With few locations of one value, PostgreSQL may prefer to sort these.
        assertWalked(explained, "city" in filter || "tag" in filter);
        for (const { what, plan } of explained) assert.match(plan, /locations_(own|shared)_/, what);
      }
    });
  }

  it("an order that only videos have walks an index of videos only", async () => {
    for (const [sortOrder, index] of [
      ["bitRate", /videos_(own|shared)_bit_rate/],
      ["-lengthInSeconds", /videos_(own|shared)_length/],
      ["thumbnailID", /videos_(own|shared)_thumbnail/],
      ["friendlyName", /videos_(own|shared)_friendly_name/],
    ] as const) {
      const search = ownedSearch(fileKinds[1], test.application.appid, me.id, { sortOrder });
      for (const { plan } of await explainPages(sortOrder, search)) assert.match(plan, index);
    }
  });

  for (const [turn, sortOrder] of bothWays(userOrders).entries()) {
    it(`GET /users, sortOrder ${sortOrder}`, async () => {
      const names = [{ firstName: "first 1" }, { lastName: "last 1" }];
      for (const filter of valuesOf([{}, { email: "email 1" }, ...names, { gender: "Male" } as const], turn)) {
        const given = { ...filter, sortOrder };
        const explained = await explainPages(JSON.stringify(given), userSearch(test.application.appid, me.id, given));
        // With its statistics on the filter, PostgreSQL may prefer to sort the matching rows.
        assertWalked(explained, Object.keys(filter).length > 0 && !/created$/.test(sortOrder));
      }
    });
  }

  for (const sortOrder of bothWays(itemOrders)) {
    it(`GET /metadata/{id}, sortOrder ${sortOrder}`, async () => {
      for (const filter of [{}, { keyPrefix: "1 key" }]) {
        for (const bag of bags()) {
          const given = { ...filter, sortOrder };
          assertWalked(await explainPages(JSON.stringify(given), itemSearch(bag, me.id, given)));
        }
      }
    });
  }

  it("a prefix bounds the range of keys, also on distant pages", async () => {
    for (const sortOrder of ["key", "-key"] as const) {
      for (const bag of bags()) {
        const given = { keyPrefix: "1 key", sortOrder };
        for (const { what, parameters } of await explainPages(sortOrder, itemSearch(bag, me.id, given))) {
          const isDown = sortOrder.startsWith("-") === !what.endsWith("before");
          const texts = parameters.filter((each) => typeof each === "string");
          const bounds = texts.filter((each) => (isDown ? each.startsWith("1 key\u{10FFFF}") : each === "1 key"));
          assert.equal(bounds.length, isDeep({ what, parameters }) ? 0 : 1, what);
        }
      }
    }
  });

  it("a filter on the sort column bounds the walk, also on distant pages", async () => {
    const [start, end] = [101, 9_000];
    for (const [sortOrder, name] of [
      ["created", "created"],
      ["-created", "created"],
      ["tag", "created"],
      ["-tag", "created"],
      ["lastModified", "lastModified"],
      ["-lastModified", "lastModified"],
    ] as const) {
      const shift = name === "created" ? 0 : 990_000;
      const range = { start: start + shift, end: end + shift };
      const given = { [name]: range, sortOrder, ...(sortOrder.endsWith("tag") && { tag: "a" }) };
      const explained = await explainPages(
        JSON.stringify(given),
        ownedSearch(checkinKind, test.application.appid, me.id, given),
      );
      for (const { what, plan, parameters } of explained) {
        assert.doesNotMatch(plan, /TEMP B-TREE|SCAN|Sort|Seq Scan/, `${what}:\n${plan}`);
        const isDown = sortOrder.startsWith("-") === !what.endsWith("before");
        if (isDeep({ what, parameters })) assert.ok(!parameters.includes(isDown ? range.end : range.start), what);
      }
    }
  });

  it("a crowd in a range of cells is read from the previous row, not from the beginning of the range", async () => {
    const search = ownedSearch(checkinKind, test.application.appid, me.id, {});
    for (const scope of search.scopes) {
      const explained: Omit<Explained, "what">[] = [];
      const range = { from: 0, to: Number.MAX_SAFE_INTEGER };
      const stream = rowsByCell<OwnedRow>(scope, range, explaining(explained));
      const { rows } = await stream.take({ direction: "forward", count: 10 });
      const last = rows.at(-1);
      assert.ok(last !== undefined);
      const key = stream.keyOf(last);
      await stream.take({ direction: "forward", bound: { side: "after", key }, count: 10 });
      const [first, second] = explained;
      assert.ok(first?.parameters.includes(range.from));
      const bounds = second?.parameters.filter((value) => value === key[0]);
      assert.equal(bounds?.length, 2, "the bound of the range, and the comparison with the key");
    }
  });

  it("a crowd is found only in the index of cells, and its rows by key", async () => {
    const search = ownedSearch(checkinKind, test.application.appid, me.id, {});
    for (const scope of search.scopes) {
      const explained: Omit<Explained, "what">[] = [];
      const cells = [{ from: 0, to: Number.MAX_SAFE_INTEGER }];
      const entries = await rowsInCells<CellEntry>([entriesOf(scope)], cells, 10, explaining(explained));
      assert.ok(entries.length > 0);
      const ids = entries.map(({ id }) => id);
      assert.equal((await rowsByTie<OwnedRow>(scope, ids, explaining(explained))).length, ids.length);
      const [found, read] = explained;
      if (hasCostPlanner) assert.match(read?.plan ?? "", /checkins_pkey/);
      else {
        assert.match(found?.plan ?? "", /COVERING INDEX checkins_(own|shared)_cell/);
        assert.match(read?.plan ?? "", /SEARCH checkins USING PRIMARY KEY \(application_id=\? AND id=\?\)/);
      }
    }
  });

  it("an area is looked up by its cells", async () => {
    const plans: Omit<Explained, "what">[] = [];
    for (const range of ["circle", "box"] as const) {
      const locationRange =
        range === "circle"
          ? ({ shape: "circle", center: { lat: 10, lng: 10 }, radiusMeters: 500_000 } as const)
          : ({ shape: "box", southWest: { lat: 10, lng: 10 }, northEast: { lat: 12, lng: 12 } } as const);
      for (const sortOrder of ["-created", "distance"] as const) {
        const search = ownedSearch(checkinKind, test.application.appid, me.id, { locationRange, sortOrder });
        await searchPage(search, { at: "start" }, 10, explaining(plans));
      }
    }
    assert.ok(plans.length > 0);
    for (const { plan } of plans) {
      if (hasCostPlanner) assert.doesNotMatch(plan, /Seq Scan on (checkins|users)/, plan);
      else
        assert.match(
          plan,
          /SEARCH checkins USING (COVERING )?INDEX checkins_(own|shared)_cell \(.*cell>\? AND (seen_)?cell<\?\)/,
          plan,
        );
    }
  });
});

describe("the listings of operators walk an index", () => {
  const groupsTotal = 3_000;
  before(async () => {
    const { appid } = test.application;
    const { database, ids } = test.app;
    const registered = await database.reads.selectFrom("devices").selectAll().executeTakeFirstOrThrow();
    for (let start = 0; start < groupsTotal; start += 500) {
      const devices = Array.from({ length: 500 }, (_, index) => {
        const n = start + index;
        const sent = {
          platform: `p${n % 3}`,
          tag: n % 4 === 0 ? null : `t${n % 4}`,
          key_id: n % 3 ? `k${n % 3}` : null,
          last_seen_at: n,
        };
        const times = { created_at: n, modified_at: 990_000 + ((n * 7) % groupsTotal) };
        return { ...registered, id: ids.newId("Device"), unique_id: null, ...sent, ...times };
      });
      await database.write(({ queries }) => queries.insertInto("devices").values(devices).execute());
    }
    if (hasCostPlanner) await sql`analyze devices`.execute(database.reads);
    const [device] = await database.reads
      .selectFrom("devices")
      .select("id")
      .where("application_id", "=", appid)
      .execute();
    assert.ok(device !== undefined);
    const all = Array.from({ length: groupsTotal }, (_, n) => ({
      group: {
        application_id: appid,
        fingerprint: `${n}`,
        title: "",
        reports: n % 50,
        devices: 1,
        first_seen_at: n,
        last_seen_at: (n * 7) % groupsTotal,
      },
      report: {
        application_id: appid,
        id: ids.newId("CrashReport"),
        device_id: device.id,
        stack_trace: "",
        fingerprint: `${n % 3}`,
        created_at: n,
      },
    }));
    for (let start = 0; start < groupsTotal; start += 500) {
      const some = all.slice(start, start + 500);
      await database.write(async ({ queries }) => {
        const groups = some.map(({ group }) => group);
        const reports = some.map(({ report }) => report);
        await queries.insertInto("crash_groups").values(groups).execute();
        await queries.insertInto("crash_reports").values(reports).execute();
      });
    }
    if (hasCostPlanner) await sql`analyze crash_groups, crash_reports`.execute(database.reads);
  });

  function assertIndexed(explained: readonly Omit<Explained, "what">[], index: RegExp): void {
    assert.ok(explained.length > 0);
    for (const { plan } of explained) {
      assert.match(plan, index);
      assert.doesNotMatch(plan, /TEMP B-TREE|SCAN|Sort|Seq Scan/);
    }
  }

  it("users, devices, check-ins and files in every order, on the first page and on distant ones", async () => {
    const { appid } = test.application;
    for (const name of operatedUserOrders) {
      for (const sortOrder of [name, `-${name}`] as const) {
        for (const filter of [{}, { disabled: false }, { email: "email 1" }, { userNamePrefix: "name 1" }]) {
          const given = { ...filter, sortOrder };
          const explained = await explainPages(JSON.stringify(given), operatedUserSearch(appid, given));
          // A filter on equal values may select fewer rows than a walk would visit.
          assertWalked(explained, "email" in filter && name !== "created");
        }
      }
    }
    for (const sortOrder of ["created", "-created"] as const) {
      const what = `devices ${sortOrder}`;
      // Platform and tag have no index, because devices are written often and operators rarely filter by these.
      for (const filter of [{}, { keyId: "k1" }]) {
        const given = { ...filter, sortOrder };
        assertWalked(await explainPages(what + JSON.stringify(given), operatedDeviceSearch(appid, given)));
      }
      for (const filter of [{}, { userID: me.id }]) {
        const given = { ...filter, sortOrder };
        assertWalked(
          await explainPages(`checkins ${JSON.stringify(given)}`, operatedSearch(checkinKind, appid, given)),
        );
        assertWalked(
          await explainPages(`locations ${JSON.stringify(given)}`, operatedSearch(locationKind, appid, given)),
        );
        const files = operatedSearch(fileKinds[1], appid, given);
        assertWalked(await explainPages(`files ${JSON.stringify(given)}`, files));
      }
    }
  });

  // spec/operators#operator-views
  it("the users with an identifier in another system, the users with a name, and the users who are signed in on devices", async () => {
    const { appid } = test.application;
    const explained: Omit<Explained, "what">[] = [];
    const queries = explaining(explained);
    await searchPage(operatedUserSearch(appid, { identityProviderID: "4711" }), { at: "start" }, 10, queries);
    await findSignedInUsers(appid, ["dev_1", "dev_2"], 0, queries);
    for (const { plan } of explained)
      assert.doesNotMatch(plan, /SCAN (devices|users|user_tokens|identities)|Seq Scan on users/, plan);
    if (!hasCostPlanner) assert.match(explained[0]?.plan ?? "", /identities_of_identifier.*users USING PRIMARY KEY/s);
    if (!hasCostPlanner) assert.match(explained[1]?.plan ?? "", /user_tokens_of_device/);
    const named: Omit<Explained, "what">[] = [];
    await searchPage(operatedUserSearch(appid, { name: "first la" }), { at: "start" }, 10, explaining(named));
    assert.match(named[0]?.plan ?? "", /users_all_by_first_name.*users_all_by_last_name/s);
    if (!hasCostPlanner) assert.match(named[0]?.plan ?? "", /users USING PRIMARY KEY/);
  });

  it("the users of a device, and the devices of a user", async () => {
    const { appid } = test.application;
    const explained: Omit<Explained, "what">[] = [];
    await readPage(usersOfDevice(appid, "dev_1", explaining(explained)), { at: "start" }, 10);
    await readPage(usersOfDevice(appid, "dev_1", explaining(explained)), { at: "after", key: [me.id] }, 10);
    await searchPage(operatedDeviceSearch(appid, { userID: me.id }), { at: "start" }, 10, explaining(explained));
    for (const { plan } of explained) assert.doesNotMatch(plan, /SCAN (?!few|token)|Seq Scan on (devices|users)/, plan);
    if (hasCostPlanner) return;
    assert.match(explained[0]?.plan ?? "", /user_tokens_of_device/);
    assert.match(explained.at(-1)?.plan ?? "", /user_tokens USING PRIMARY KEY.*devices USING PRIMARY KEY/s);
  });

  // spec/operators#search-for-anything
  it("a search for anything looks up every kind by an index, for any text", async () => {
    const { ids } = test.app;
    const kinds = ["User", "Device", "Checkin", "Location", "Video", "ApplicationKey", "CrashReport"] as const;
    const texts = ["name 7", "Élodie K", "email 1", "0123456789abcdef", ...kinds.map((kind) => ids.newId(kind))];
    for (const text of texts) {
      const explained: Omit<Explained, "what">[] = [];
      const queries = explaining(explained);
      await findInApplication(test.application.appid, text, queries);
      await findInDeployment(text, queries);
      assert.ok(explained.length >= 6, text);
      for (const { plan } of explained) {
        // PostgreSQL reads small tables completely.
        const isScan = hasCostPlanner
          ? /Seq Scan on (users|checkins|files|locations|crash_)/
          : /SCAN (?!range_)|TEMP B-TREE/;
        assert.doesNotMatch(plan, isScan, `${text}:\n${plan}`);
      }
    }
    const explained: Omit<Explained, "what">[] = [];
    await findInApplication(test.application.appid, "name 7", explaining(explained));
    const plans = explained.map(({ plan }) => plan).join("\n");
    for (const index of [
      /users_all_email/,
      /users_all_by_first_name/,
      /users_all_by_last_name/,
      /users_application_id_user_name_key_key|sqlite_autoindex_users/,
    ]) {
      assert.match(plans, index);
    }
  });

  // spec/operators#impact
  it("the active devices of a key and of an application, newest first", async () => {
    const { appid } = test.application;
    for (const [subject, index] of [
      [{ kind: "application" }, /devices_all_seen/],
      [{ kind: "key", id: "k1" }, /devices_of_key_seen/],
    ] as const) {
      const explained: Omit<Explained, "what">[] = [];
      await findImpact(appid, subject, 90_000_000 + groupsTotal - 100, explaining(explained)); // the last hundred
      const [active = { plan: "" }, ...others] = explained;
      // PostgreSQL may sort the few rows, and scans tables of some thousand rows to count them.
      assert.match(active.plan, hasCostPlanner ? /devices_(all|of_key)_seen/ : index);
      for (const { plan } of hasCostPlanner ? [] : [active, ...others]) {
        assert.doesNotMatch(plan, /TEMP B-TREE|SCAN (device|token|users)/, plan);
      }
    }
  });

  // spec/operators#impact
  it("the devices of a user, starting from the user's tokens", async () => {
    const explained: Omit<Explained, "what">[] = [];
    const subject = { kind: "user", id: me.id } as const;
    await findImpact(test.application.appid, subject, 90_000_000, explaining(explained));
    for (const { plan } of explained) assert.doesNotMatch(plan, /SCAN (device|token|users)|devices_all_seen/, plan);
  });

  it("flags of locations, all of them, of one location and of one user", async () => {
    const { appid } = test.application;
    const found = await test.app.database.reads.selectFrom("location_flags").select("object_id").limit(1).execute();
    const locationID = found[0]?.object_id ?? "";
    for (const [filters, index] of [
      [{}, /location_flags_created/],
      [{ created: { start: 1_000, end: 9_000 } }, /location_flags_created/],
      [{ locationID }, /location_flags/],
      [{ userID: me.id }, /location_flags_by_user/],
    ] as const) {
      const explained: Omit<Explained, "what">[] = [];
      const flags = flagsStream(appid, filters, explaining(explained));
      const page = await readPage(flags, { at: "start" }, 10);
      const last = page.rows.at(-1);
      assert.ok(last !== undefined);
      await readPage(flags, { at: "after", key: flags.keyOf(last) }, 10);
      await readPage(flags, { at: "before", key: flags.keyOf(last) }, 10);
      assertIndexed(explained, index);
    }
  });

  it("crash groups in every order, on the first page and on distant ones", async () => {
    const { appid } = test.application;
    const indexes = { lastSeen: /by_last_seen/, firstSeen: /by_first_seen/, reports: /by_reports/ } as const;
    for (const name of ["lastSeen", "firstSeen", "reports"] as const) {
      for (const isDescending of [true, false]) {
        const order = { name, isDescending };
        const explained: Omit<Explained, "what">[] = [];
        const queries = explaining(explained);
        const page = await listCrashGroups(appid, order, { at: "start" }, 10, queries);
        const last = page.rows.at(-1);
        assert.ok(last !== undefined);
        await listCrashGroups(appid, order, { at: "after", key: page.keyOf(last) }, 10, queries);
        await listCrashGroups(appid, order, { at: "before", key: page.keyOf(last) }, 10, queries);
        assertIndexed(explained, indexes[name]);
      }
    }
  });

  it("the events behind a position, and the newest", async () => {
    const { appid } = test.application;
    const { database } = test.app;
    const event = { application_id: appid, type: "checkin.created", at: 1, object_id: "", changed: "" };
    const rows = Array.from({ length: 2_000 }, (_, n) => ({
      ...event,
      ...{ number: n + 1, position: n + 1, id: `${n}`, was_shown: 0, is_shown: 1 },
    }));
    await database.write(async ({ queries }) => {
      for (let n = 0; n < rows.length; n += 500) {
        await queries
          .insertInto("events")
          .values(rows.slice(n, n + 500))
          .execute();
      }
    });
    if (hasCostPlanner) await sql`analyze events`.execute(database.reads);
    const explained: Omit<Explained, "what">[] = [];
    const queries = explaining(explained);
    assert.equal((await listEvents(appid, 1_000, 10, queries)).length, 10);
    assert.equal((await findLogEnd(appid, queries)).position, 2_000);
    assertIndexed(explained, /events_by_(position|placement)/);
  });

  it("the crashes that are new in a range", async () => {
    const explained: Omit<Explained, "what">[] = [];
    await listNewCrashes(test.application.appid, { from: 1_000, to: 9_000 }, explaining(explained));
    assertIndexed(explained, /by_first_seen/);
  });

  // spec/devices#crash-states
  it("crash groups in a state, and the days of one", async () => {
    const { appid } = test.application;
    const indexes = { lastSeen: "last_seen_at", firstSeen: "first_seen_at", reports: "reports" } as const;
    for (const name of ["lastSeen", "firstSeen", "reports"] as const) {
      const search = { name, isDescending: true, state: "open" } as const;
      const explained: Omit<Explained, "what">[] = [];
      const page = await listCrashGroups(appid, search, { at: "start" }, 10, explaining(explained));
      const last = page.rows.at(-1);
      assert.ok(last !== undefined);
      await listCrashGroups(appid, search, { at: "after", key: page.keyOf(last) }, 10, explaining(explained));
      // All groups are open here, so the planner of PostgreSQL may walk the index of all states.
      const index = new RegExp(hasCostPlanner ? "crash_groups_" : `crash_groups_state_${indexes[name]}`);
      assertIndexed(explained, index);
    }
    const ofPlatform = { name: "lastSeen", isDescending: true, platform: "iOS", appVersion: "1" } as const;
    const filtered: Omit<Explained, "what">[] = [];
    await listCrashGroups(appid, ofPlatform, { at: "start" }, 10, explaining(filtered));
    for (const { plan } of filtered) assert.match(plan, /crash_groups_/);
    for (const { plan } of hasCostPlanner ? [] : filtered) assert.doesNotMatch(plan, /SCAN/);
    const explained: Omit<Explained, "what">[] = [];
    await listCrashDays(appid, ["1"], { from: 0, to: 14 }, explaining(explained));
    // The table is empty, so PostgreSQL may scan it.
    for (const { plan } of hasCostPlanner ? [] : explained) assert.doesNotMatch(plan, /SCAN/);
  });

  it("the reports of a crash group", async () => {
    const explained: Omit<Explained, "what">[] = [];
    const queries = explaining(explained);
    const page = await listCrashReports(test.application.appid, "1", { at: "start" }, 10, queries);
    const last = page.rows.at(-1);
    assert.ok(last !== undefined);
    await listCrashReports(test.application.appid, "1", { at: "after", key: page.keyOf(last) }, 10, queries);
    assertIndexed(explained, /crash_reports_of_group/);
  });
});

describe("the audit log", () => {
  it("walks an index of the filter, newest first, on the first page and on distant ones", async () => {
    const { database, ids } = test.app;
    for (let start = 0; start < rowsTotal; start += 500) {
      const rows = Array.from({ length: 500 }, (_, index) => {
        const n = start + index;
        const actor = { kind: n % 40 === 0 ? "operator" : "user", id: `actor ${n % 50}` } as const;
        const event = {
          actor,
          action: `action ${n % 20}`,
          applicationId: `app ${n % 30}`,
          target: `target ${n % 100}`,
          details: n % 100 === 0 ? { error: "AuthFailed" } : { note: '"error":' },
          call: { address: "", requestId: n % 2 === 0 ? "" : `request ${n % 100}` },
        };
        return newAuditRow(event, n, ids);
      });
      await database.write(({ queries }) => insertAuditRows(rows, queries));
    }
    if (hasCostPlanner) await sql`analyze audit_log`.execute(database.reads);
    const filters: [AuditFilters, RegExp][] = [
      [{}, /audit_log_at/],
      [{ at: { start: 1_000, end: 9_000 } }, /audit_log_at/],
      [{ applicationId: "app 7" }, /audit_log_application/],
      [{ actor: "actor 7" }, /audit_log_actor/],
      [{ actions: ["action 7"] }, /audit_log_action/],
      [{ actions: ["action 7", "action 9"] }, /audit_log_action/],
      [{ actorKind: "operator" }, /audit_log_actor_kind/],
      [{ isRefused: true }, /audit_log_refused/],
      [{ target: "target 7" }, /audit_log_target/],
      [{ requestId: "request 7" }, /audit_log_request/],
    ];
    const ofMarkers: Omit<Explained, "what">[] = [];
    await listMarkers("app 7", { from: 1_000, to: 9_000 }, explaining(ofMarkers));
    assert.match(ofMarkers.map(({ plan }) => plan).join(), /audit_log_action/);
    for (const [filter, index] of filters) {
      const explained: Omit<Explained, "what">[] = [];
      const queries = explaining(explained);
      const page = await listAuditRows(filter, { at: "start" }, 10, queries);
      const last = page.rows.at(-1);
      assert.ok(last !== undefined);
      await listAuditRows(filter, { at: "after", key: page.keyOf(last) }, 10, queries);
      await listAuditRows(filter, { at: "before", key: page.keyOf(last) }, 10, queries);
      for (const { plan } of explained) {
        assert.match(plan, index);
        // PostgreSQL may sort the entries if its statistics say that few match.
        assert.doesNotMatch(plan, /TEMP B-TREE|SCAN audit_log$|Seq Scan/);
      }
    }
  });
});

describe("the counts of the audit log", () => {
  it("are read as a range of the primary key, and the time until which entries are counted from its end", async () => {
    const { database } = test.app;
    const hour = 3_600_000;
    for (let day = 0; day < 40; day += 1) {
      const counts = Array.from({ length: 200 }, (_, n) => ({
        application_id: n % 4 === 0 ? "" : `app ${n % 4}`,
        starts_at: day * 24 * hour,
        actor_kind: "user" as const,
        action: `action ${n}`,
        is_refused: 0,
        entries: 1,
      }));
      await database.write(({ queries }) => insertCountedHour(counts, queries));
    }
    if (hasCostPlanner) await sql`analyze audit_counts`.execute(database.reads);
    const explained: Omit<Explained, "what">[] = [];
    const range = { from: 0, to: 2 * 24 * hour };
    await listStoredCounts({ applicationId: "app 1" }, "day", range, explaining(explained));
    assert.equal(explained.length, 1);
    for (const { plan } of explained) {
      assert.match(
        plan,
        hasCostPlanner ? /audit_counts_pkey/ : /SEARCH audit_counts USING PRIMARY KEY \(application_id=\?/,
      );
      assert.doesNotMatch(plan, /SCAN audit_counts|Seq Scan/);
    }
  });
});

describe("the events of each day of metric keys", () => {
  it("is read as a range of the primary key for each key, in one statement", async () => {
    const { appid } = test.application;
    const { database } = test.app;
    const keys = Array.from({ length: 500 }, (_, n) => `key ${n}`);
    for (let ago = 0; ago < 40; ago += 1) {
      const rows = keys.map((key) => ({
        application_id: appid,
        id: rollupId(seriesOf(key), "day", startOf("day", test.now()) - ago * spans.day, ""),
        dimension: "",
        data: writeRollup(new Cell("all")),
      }));
      await database.write(({ queries }) => queries.insertInto("metric_rollups").values(rows).execute());
    }
    if (hasCostPlanner) await sql`analyze metric_rollups`.execute(database.reads);
    const explained: Omit<Explained, "what">[] = [];
    await readDailyCounts(appid, keys.slice(0, 100), { days: 30, now: test.now() }, explaining(explained));
    assert.equal(explained.length, 1);
    for (const { plan } of explained) {
      assert.match(
        plan,
        hasCostPlanner
          ? /metric_rollups_pkey/
          : /SEARCH metric_rollups USING PRIMARY KEY \(application_id=\? AND id>\? AND id<\?\)/,
      );
      assert.doesNotMatch(plan, /SCAN metric_rollups|Seq Scan on metric_rollups/);
    }
  });
});

describe("the metadata of one key", () => {
  it("is looked up by an index of the complete key", async () => {
    const explained: Omit<Explained, "what">[] = [];
    for (const bag of bags()) {
      await findItem(bag.applicationId, bag, "1 key 1", explaining(explained));
    }
    assert.equal(explained.length, 2);
    const lookup = hasCostPlanner
      ? /^Index Scan using metadata_(pkey|of_user) .*\n.*key = /
      : /^SEARCH metadata USING PRIMARY KEY \(application_id=\? AND object_id=\? AND slot=\? AND key=\?\)/;
    for (const { plan } of explained) assert.match(plan, lookup);
  });

  it("is looked up by cells in an area", async () => {
    const plans: Omit<Explained, "what">[] = [];
    const locationRange = { shape: "circle", center: { lat: 10, lng: 10 }, radiusMeters: 500_000 } as const;
    for (const bag of bags()) {
      await searchPage(itemSearch(bag, me.id, { locationRange }), { at: "start" }, 10, explaining(plans));
    }
    assert.ok(plans.length > 0);
    for (const { plan } of plans) {
      if (hasCostPlanner) assert.match(plan, /metadata_(seen_)?cell/);
      else assert.match(plan, /SEARCH metadata USING INDEX metadata_(seen_)?cell \(.*cell>\? AND (seen_)?cell<\?\)/);
    }
  });
});

describe("maintenance", () => {
  it("finds the users with pending work by a partial index of those users", async () => {
    const explained: Omit<Explained, "what">[] = [];
    assert.equal((await listUnfinishedUsers(10, explaining(explained))).length, 0);
    assert.equal(explained.length, 1);
    assert.match(`${explained[0]?.plan}`, /users_unfinished/);
    assert.deepEqual(await listErasedUsers(test.application.appid, 10, explaining(explained)), []);
    assert.match(`${explained[1]?.plan}`, /users_deleted/);
  });
});
