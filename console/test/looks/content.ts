import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ApiError } from "../../../server/src/lib/errors.ts";
import { spans } from "../../../server/src/lib/spans.ts";
import { Tally } from "../../../server/src/statistics/tally.ts";
import { uploadPicture } from "../profile-picture.ts";
import type { TestServer } from "../servers.ts";
import { connect, send } from "../suite.ts";

/** The ids of the objects on the screens, by their names in addresses. */
export type Ids = Readonly<Record<string, string>>;

type Caller = Awaited<ReturnType<typeof connect>>;

/** No server listens there, so a delivery to it fails immediately. */
export const closedPort = "http://127.0.0.1:9";

const manyUsers = 100_000;
const usersPerStep = 5_000;
const contents = new Map<string, Promise<Ids>>();

/** The objects that the screens of a server show, created at the first call. */
export function contentOf({ url, operator, dataDir }: TestServer): Promise<Ids> {
  const known = contents.get(url);
  if (known !== undefined) return known;
  const created = createAll(url, operator, dataDir);
  contents.set(url, created);
  return created;
}

/** The address with the ids in it. */
export function addressOf(at: string, ids: Ids): string {
  return at.replaceAll(/\$(\w+)/g, (_, name: string) => ids[name] ?? "");
}

/** Calls and app versions of the last day, written directly to the database: the server writes one row a minute. */
export function addHistory(dataDir: string, appid: string): void {
  const database = new DatabaseSync(path.join(dataDir, "rollcall.db"), { timeout: 60_000 });
  try {
    const insert = database.prepare(`
      insert into statistics (application_id, span, starts_at, writer, is_pending, calls, errors, data)
      values (?, ?, ?, '', 0, ?, ?, ?)`);
    const thisHour = Math.floor(Date.now() / spans.hour) * spans.hour;
    for (let hours = 1; hours <= 24; hours += 1) {
      const tally = tallyOf(hours);
      const { calls, failed } = tally;
      insert.run(appid, spans.hour, thisHour - hours * spans.hour, calls, failed, tally.write(rowBytesMax));
    }
    const minute = tallyOf(1);
    insert.run(appid, spans.minute, thisHour - spans.hour, minute.calls, minute.failed, minute.write(rowBytesMax));
    const insertVersion = database.prepare("insert or replace into app_versions values (?, ?, ?, ?, ?)");
    insertVersion.run(appid, "1.0", 0, 900, "[]");
    for (const { name, hoursAgo, platforms } of newVersions) {
      insertVersion.run(appid, name, thisHour - hoursAgo * spans.hour, hoursAgo, JSON.stringify(platforms));
    }
  } finally {
    database.close();
  }
}

/** The versions that appeared in the last day. */
export const newVersions = [
  { name: "2.4.0", hoursAgo: 17, platforms: ["iOS", "Android"] },
  { name: "2.4.1", hoursAgo: 5, platforms: ["iOS"] },
] as const;
const rowBytesMax = 16_384;
/** The web pages of the history. */
export const seenOrigins = ["https://app.example.com", "https://shop.example.com:8443"] as const;

/** The busiest minutes of a device. */
export const peaks = { caller: 141, "POST /checkins": 38, "POST /users/login": 31 } as const;

/** An hour of which some are busier than others. */
function tallyOf(hour: number): Tally {
  const tally = new Tally();
  const busyness = 1.2 + Math.sin(hour / 4);
  const operations = { searchCheckins: 40, createCheckin: 18, createMetricEvent: 12, loginUser: 6 };
  for (const [operation, calls] of Object.entries(operations)) {
    for (let call = 0; call < calls * busyness; call += 1) {
      const failure = call % 17 === 16 ? new ApiError("AuthBadUsernameOrPassword") : undefined;
      tally.count(operation, { status: failure === undefined ? 200 : 401, ms: 2 + ((call * 7) % 13), failure });
    }
  }
  for (const origin of seenOrigins) for (let call = 0; call < hour; call += 1) tally.countOrigin(origin);
  for (const [limit, calls] of Object.entries(peaks)) tally.countPeak(limit, calls);
  tally.newUsers = Math.round(4 * busyness);
  tally.newDevices = Math.round(6 * busyness);
  for (let device = 0; device < 30 * busyness; device += 1) tally.devices.add(device * 65_537 * hour);
  return tally;
}

async function createAll(url: string, operator: TestServer["operator"], dataDir: string | undefined): Promise<Ids> {
  const call = await connect({ url, operator });
  const { result: empty } = await call("POST", "/applications", { name: "Empty" });
  const three = await createUsers(url, call, "Three", ["Ada Lovelace", "محمد بن موسى الخوارزمي", "👩‍🚀"]);
  const many = await createUsers(url, call, "Many", ["first"]);
  const content = await createContent(url, call);
  if (dataDir !== undefined) {
    await addUsers(dataDir, many);
    addHistory(dataDir, content["appid"] ?? "");
  }
  return { ...content, empty: empty.appid, three, many };
}

/** @returns the id of the application */
async function createUsers(url: string, call: Caller, name: string, users: readonly string[]): Promise<string> {
  const { result: application } = await call("POST", "/applications", { name });
  const { appid, appkey } = application;
  const { result: device } = await send(`${url}/devices`, "POST", { appid, appkey, platform: "iOS" });
  const headers = { Authorization: `Service ${device.accessToken}` };
  for (const username of users) {
    const email = `${username.length}@example.com`;
    await send(`${url}/users`, "POST", { username, password: "correct horse", firstName: username, email }, headers);
  }
  return appid;
}

/**
 * Many users like the first one of the application, written beside the server: no app could sign them up in seconds. In steps, so
 * that the calls of other checks are not held up.
 */
async function addUsers(dataDir: string, appid: string): Promise<void> {
  const database = new DatabaseSync(path.join(dataDir, "rollcall.db"), { timeout: 60_000 });
  try {
    const own = ["id", "user_name", "user_name_key", "created_at"];
    const columns = database.prepare("select name from pragma_table_info('users')").all();
    const copied = columns.map(({ name }) => String(name)).filter((name) => !own.includes(name));
    const first = database.prepare("select id from users where application_id = ?").get(appid);
    const insert = database.prepare(`
      insert into users (${[...own, ...copied].join(", ")})
      with recursive numbers (n) as (select :from union all select n + 1 from numbers where n < :to)
      select substr(id, 1, 20) || printf('%010d', n), 'user ' || printf('%d', n), 'user ' || printf('%d', n), created_at - n * 60000, ${copied.join(", ")}
      from users cross join numbers where application_id = :appid and id = :id`);
    for (let from = 1; from <= manyUsers; from += usersPerStep) {
      insert.run({ from, to: from + usersPerStep - 1, appid, id: first?.["id"] ?? null });
      await new Promise(setImmediate);
    }
  } finally {
    database.close();
  }
}

/** Events of the last 30 days: many on some days, more every day, and only on one day. */
function eventsOfMonth(): { key: string; timestamp: number }[] {
  const perDay: Readonly<Record<string, (ago: number) => number>> = {
    "screen.opened": (ago) => Math.round(8 + 7 * Math.sin(ago / 3)),
    "checkout.completed": (ago) => Math.floor((30 - ago) / 3),
    "tour.skipped": (ago) => (ago === 12 ? 3 : 0),
  };
  const keys = Object.entries(perDay);
  return Array.from({ length: 30 }, (_, ago) => {
    const timestamp = Date.now() - ago * spans.day;
    return keys.flatMap(([key, count]) => Array.from({ length: count(ago) }, () => ({ key, timestamp })));
  }).flat();
}

/** Creates an application with a user, a device and a crash with long and unusual strings. @returns their ids */
async function createContent(url: string, call: Caller): Promise<Ids> {
  const text = `${"A long text of an app ".repeat(4)}👩‍🚀 שלום`;
  const { result: application } = await call("POST", "/applications", { name: text });
  const { appid, appkey } = application;
  const quotas = { bytesPerApplication: 1_000_000, filesPerApplication: 100 };
  await call("PATCH", `/applications/${appid}/settings`, { events: { record: "always" }, quotas });
  await call("POST", `/applications/${appid}/keys`, { label: text });
  await call("PUT", `/applications/${appid}/signing-secret`, {});
  const hook = { url: `${closedPort}/${"a-long-path/".repeat(8)}`, types: ["*"], name: text };
  const { result: webhook } = await call("POST", `/applications/${appid}/webhooks`, hook);
  const uniqueId = `${"a-long-unique-id-".repeat(6)}1`;
  const facts = { platform: "iOS", model: "Phone", osVersion: "26.1", appVersion: "1.0", tag: "beta" };
  const { result: device } = await send(`${url}/devices`, "POST", { appid, appkey, uniqueId, ...facts });
  const service = { Authorization: `Service ${device.accessToken}` };
  const user = {
    username: `${"long.name.".repeat(5)}user`,
    password: "correct horse",
    firstName: text,
    lastName: "שלום",
  };
  const { result: signedUp } = await send(`${url}/users`, "POST", user, service);
  const ofUser = { Authorization: `Service ${signedUp.accessToken}` };
  await uploadPicture(url, signedUp.accessToken);
  const profile = { locationFuzzing: true };
  await send(`${url}/users/me`, "PATCH", profile, ofUser);
  const ofOperator = `/applications/${appid}/users/${signedUp.id}`;
  await call("PATCH", ofOperator, { celebMode: true, email: "long@example.com" });
  await call("POST", `${ofOperator}/disable`);
  await call("POST", `${ofOperator}/enable`);
  const checkin = { location: "48.2082,16.3738", comment: text, readPermissions: "App" };
  await send(`${url}/checkins`, "POST", checkin, ofUser);
  await send(`${url}/checkins`, "POST", { location: "48.21,16.37" }, ofUser);
  const frames = ["onPress (screen.js:12:3)", "listen (node_modules/react-dom/index.js:1:1)", "run (app.js:1:1)"];
  const stackTrace = `TypeError: ${text}\n${frames.map((frame) => `    at ${frame}`).join("\n")}`;
  await call("PATCH", `/applications/${appid}/settings`, { tokenLifetimes: { deviceMs: 7_200_000 } });
  await send(`${url}/devices/current/crashreports`, "POST", { stackTrace, message: text }, service);
  for (const [score, world] of [
    [10, text],
    [20.5, "שלום"],
    [12, "fire"],
  ] as const) {
    await send(`${url}/metrics/events/level`, "POST", { values: { score, world } }, service);
  }
  await send(`${url}/metrics/events`, "POST", { events: eventsOfMonth() }, service);
  const [{ result: devices }, { result: crashes }] = [
    await call("GET", `/applications/${appid}/devices`),
    await call("GET", `/applications/${appid}/crashes`),
  ];
  return {
    appid,
    userId: signedUp.id,
    deviceId: devices.pageResults[0].id,
    fingerprint: crashes.pageResults[0].fingerprint,
    webhookId: webhook.id,
  };
}
