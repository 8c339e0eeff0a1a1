import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { forOwnedTables } from "../db/owned-tables.ts";
import {
  beginsWith,
  type Condition,
  condition,
  equals,
  lowerBeginsWith,
  lowerOrder,
  type Order,
  textBeginsWith,
  textOrder,
} from "../db/search/conditions.ts";
import { scopeStream } from "../db/search/scope.ts";
import { nameRangeSql, nameRangesOf, usersByName } from "../db/search/users-by-name.ts";
import type { CrashGroupRow, DeviceRow, OwnedTableName, UserRow } from "../db/tables.ts";
import { kindOfId } from "../lib/ids.ts";
import { isOwnedKind, kinds, ownedKinds } from "../lib/kinds.ts";
import { userNameKey } from "../lib/user-name-keys.ts";
import { hitsMax, searchedApplicationsMax } from "./search.contract.ts";

/** A found object, in the wire format. */
export interface Hit {
  readonly id: string;
  readonly title?: string;
  readonly detail?: string;
  readonly appid?: string;
  readonly application?: string;
  readonly match: "id" | "name" | "personName" | "email" | "uniqueId" | "identity" | "requestId" | "object";
}

/** A search in an application. Every lookup uses an index and reads at most `hitsMax` rows. */
interface SearchTarget {
  readonly applicationId: string;
  readonly text: string;
  readonly queries: Queries;
}

/** @param text trimmed */
export async function findInApplication(applicationId: string, text: string, queries: Queries) {
  const target = { applicationId, text, queries };
  const [users, devices, owned, keys, crashes, metrics, audit] = await Promise.all([
    findUsers(target),
    findDevices(target),
    findOwned(target),
    findKeys(target),
    findCrashes(target),
    findMetrics(target),
    findEntries(text, applicationId, queries),
  ]);
  return { users, devices, ...owned, keys, crashes, metrics, audit };
}

/** @param text trimmed */
export async function findInDeployment(text: string, queries: Queries) {
  const newest = await listNewestApplications(queries);
  const [applications, owners, users, operators, audit] = await Promise.all([
    findApplications(text, queries),
    findOwners(text, newest, queries),
    findUsersOf(newest, text, queries),
    findOperators(text, queries),
    findEntries(text, undefined, queries),
  ]);
  return { applications: [...applications, ...owners], users, operators, audit };
}

async function findUsers({ applicationId, text, queries }: SearchTarget): Promise<Hit[]> {
  const isThere = condition("is there", {}, () => sql`deleted_at is null`);
  const isUser = [equals("application_id", applicationId), isThere];
  const users = (conditions: readonly Condition[], order: Order<UserRow>) =>
    take("users", [...isUser, ...conditions], order, queries);
  const present = (match: Hit["match"]) => (row: FoundUser) => presentUser(row, match);
  if (kindOfId(text) === "User") return (await users([equals("id", text)], byId)).map(present("id"));

  const name = userNameKey(text);
  const addresses = [...new Set([text, text.toLowerCase()])];
  const [named, namesakes, holders, ...addressed] = await Promise.all([
    name === "" ? [] : users(beginsWith("user_name_key", name, charactersMax), byUserName),
    findNamesakes({ applicationId, text, queries }),
    findHolders({ applicationId, text, queries }),
    ...addresses.map((address) => users(textBeginsWith("email", address), textOrder("email"))),
  ]);
  return distinct([
    ...named.map(present("name")),
    ...namesakes.map(present("personName")),
    ...addressed.flat().map(present("email")),
    ...holders,
  ]);
}

type FoundUser = Pick<UserRow, "id" | "user_name" | "first_name" | "last_name" | "email">;
const foundColumns = sql`id, user_name, first_name, last_name, email`;

function presentUser({ id, user_name, first_name, last_name, email }: FoundUser, match: Hit["match"]): Hit {
  const name = [first_name, last_name].filter((part) => part !== null).join(" ");
  const detail = [name, email ?? ""].filter((part) => part !== "").join(" · ");
  return { id, title: user_name, ...(detail !== "" && { detail }), match };
}

/** Finds the users whose first or last name begins with the text. */
async function findNamesakes({ applicationId, text, queries }: SearchTarget): Promise<FoundUser[]> {
  const ranges = nameRangesOf(text);
  if (ranges.length === 0) return [];
  const { rows, values } = usersByName({ applicationId, ranges, columns: foundColumns, count: hitsMax });
  const statement = sql<FoundUser>`${rows((name) => values[name] as never)}`;
  return (await queries.executeQuery(statement.compile(queries))).rows;
}

/** Finds some users of any of these applications, unordered, so that each statement can stop at its tenth row. */
async function findUsersOf(applications: Applications, text: string, queries: Queries): Promise<Hit[]> {
  const name = userNameKey(text);
  if (applications.size === 0 || name === "" || kindOfId(text) !== undefined) return [];
  const ofApplications = sql`application_id in (${sql.join([...applications.keys()])})`;
  const find = async (match: Hit["match"], condition: RawBuilder<unknown>) => {
    const statement = sql<FoundUser & { application_id: string }>`
      select application_id, ${foundColumns} from users
      where ${ofApplications} and ${condition} and deleted_at is null limit ${sql.lit(hitsMax)}`;
    const { rows } = await queries.executeQuery(statement.compile(queries));
    return rows.map((row): Hit => {
      const { application_id: appid } = row;
      return { ...presentUser(row, match), appid, application: applications.get(appid) ?? appid };
    });
  };
  const literal = (conditions: readonly Condition[]) =>
    sql.join(
      conditions.map((each) => each.sql((name) => each.values[name] as never)),
      sql` and `,
    );
  const found = await Promise.all([
    find("name", literal(beginsWith("user_name_key", name, charactersMax))),
    ...nameRangesOf(text).map((range) =>
      find(
        "personName",
        nameRangeSql(range, (_, value) => value),
      ),
    ),
    ...[...new Set([text, text.toLowerCase()])].map((address) =>
      find("email", literal(textBeginsWith("email", address))),
    ),
  ]);
  return distinct(found.flat());
}

async function findHolders({ applicationId, text, queries }: SearchTarget): Promise<Hit[]> {
  const statement = queries
    .selectFrom("identities as identity")
    .innerJoin("users as holder", (join) =>
      join.onRef("holder.application_id", "=", "identity.application_id").onRef("holder.id", "=", "identity.user_id"),
    )
    .select(["holder.id", "holder.user_name", "holder.first_name", "holder.last_name", "holder.email"])
    .where("identity.application_id", "=", applicationId)
    .where("identity.identifier", "=", text)
    .where("holder.deleted_at", "is", null)
    .limit(hitsMax);
  return (await statement.execute()).map((row) => presentUser(row, "identity"));
}

async function findDevices({ applicationId, text, queries }: SearchTarget): Promise<Hit[]> {
  const ofApplication = equals("application_id", applicationId);
  const isId = kindOfId(text) === "Device";
  const conditions = isId ? [equals("id", text)] : beginsWith("unique_id", text, charactersMax);
  const rows = await take<DeviceRow>("devices", [ofApplication, ...conditions], isId ? byId : byUniqueId, queries);
  return rows.map(({ id, unique_id, model }) => {
    const title = unique_id ?? model;
    return { id, ...(title !== null && { title }), match: isId ? "id" : "uniqueId" };
  });
}

/** Finds hits in each table of owned objects. */
async function findOwned({ applicationId, text, queries }: SearchTarget): Promise<Record<OwnedTableName, Hit[]>> {
  const hits = forOwnedTables((): Hit[] => []);
  const kind = kindOfId(text);
  if (!isOwnedKind(kind)) return hits;
  const { table, title } = ownedKinds[kind];
  const statement = sql<{ id: string; title: string | null }>`
    select id, ${sql.ref(title)} as title from ${sql.table(table)}
    where application_id = ${applicationId} and id = ${text}`;
  const { rows } = await queries.executeQuery(statement.compile(queries));
  hits[table] = rows.map((row) => ({ id: row.id, ...(row.title !== null && { title: row.title }), match: "id" }));
  return hits;
}

interface KeyRow {
  readonly id: string;
  readonly label: string | null;
}

async function findKeys({ applicationId, text, queries }: SearchTarget): Promise<Hit[]> {
  const ofApplication = equals("application_id", applicationId);
  const isId = kindOfId(text) === "ApplicationKey";
  const conditions = isId ? [equals("id", text)] : lowerBeginsWith("label", text, charactersMax);
  const order = isId ? byId : lowerOrder("label", "id");
  const rows = await take<KeyRow>("application_keys", [ofApplication, ...conditions], order, queries);
  return rows.map(({ id, label }) => ({ id, ...(label !== null && { title: label }), match: isId ? "id" : "name" }));
}

/** A crash report leads to its group. */
async function findCrashes({ applicationId, text, queries }: SearchTarget): Promise<Hit[]> {
  const isReport = kindOfId(text) === "CrashReport";
  if (!isReport && !/^[0-9a-f]{16,64}$/.test(text)) return [];
  const report = isReport
    ? await queries
        .selectFrom("crash_reports")
        .select("fingerprint")
        .where("application_id", "=", applicationId)
        .where("id", "=", text)
        .executeTakeFirst()
    : { fingerprint: text };
  if (report === undefined) return [];
  const groups: Pick<CrashGroupRow, "fingerprint" | "title">[] = await queries
    .selectFrom("crash_groups")
    .select(["fingerprint", "title"])
    .where("application_id", "=", applicationId)
    .where("fingerprint", "=", report.fingerprint)
    .execute();
  return groups.map(({ fingerprint: id, title }) => ({ id, title, match: "id" }));
}

async function findMetrics({ applicationId, text, queries }: SearchTarget): Promise<Hit[]> {
  const conditions = [equals("application_id", applicationId), ...beginsWith("key", text, charactersMax)];
  const rows = await take<{ readonly key: string }>("metric_keys", conditions, byKey, queries);
  return rows.map(({ key }) => ({ id: key, match: "name" }));
}

interface NamedRow {
  readonly id: string;
  readonly name: string;
}

async function findApplications(text: string, queries: Queries): Promise<Hit[]> {
  const isLive = condition("is live", {}, () => sql`deleted_at is null`);
  const isId = kindOfId(text) === "App";
  const conditions = isId ? [equals("application_id", text)] : lowerBeginsWith("name", text, charactersMax);
  const rows = await take<{ readonly application_id: string; readonly name: string }>(
    "applications",
    [isLive, ...conditions],
    isId ? byApplicationId : lowerOrder("name", "application_id"),
    queries,
  );
  return rows.map(({ application_id: id, name: title }) => ({ id, title, match: isId ? "id" : "name" }));
}

/** The names of applications by id. */
type Applications = ReadonlyMap<string, string>;

async function listNewestApplications(queries: Queries): Promise<Applications> {
  const rows = await queries
    .selectFrom("applications")
    .select(["application_id", "name"])
    .where("deleted_at", "is", null)
    .orderBy("created_at", "desc")
    .orderBy("application_id", "desc")
    .limit(searchedApplicationsMax)
    .execute();
  return new Map(rows.map((row) => [row.application_id, row.name]));
}

/**
 * Finds the application that an id belongs to. The key of each table starts with the application, which the id does not
 * contain, so this makes one look-up per application, for a bounded number of applications.
 */
async function findOwners(id: string, names: Applications, queries: Queries): Promise<Hit[]> {
  const kind = kindOfId(id);
  const table = kind && kinds[kind].table;
  if (table === undefined || names.size === 0) return [];
  const found = sql<{ application_id: string }>`
    select application_id from ${sql.table(table)}
    where application_id in (${sql.join([...names.keys()])}) and id = ${id}
      ${table === "users" ? sql`and deleted_at is null` : sql``}
    limit ${sql.lit(hitsMax)}`;
  const { rows } = await queries.executeQuery(found.compile(queries));
  return rows.map(({ application_id: appid }) => ({ id: appid, title: names.get(appid) ?? appid, match: "object" }));
}

async function findOperators(text: string, queries: Queries): Promise<Hit[]> {
  const isId = kindOfId(text) === "Operator";
  const conditions = isId ? [equals("id", text)] : lowerBeginsWith("name", text, charactersMax);
  const rows = await take<NamedRow>("operators", conditions, isId ? byId : lowerOrder("name", "id"), queries);
  return rows.map(({ id, name: title }) => ({ id, title, match: isId ? "id" : "name" }));
}

/**
 * Finds the newest entries of the audit log.
 *
 * @param applicationId absent for entries of the complete deployment
 */
async function findEntries(text: string, applicationId: string | undefined, queries: Queries): Promise<Hit[]> {
  const isId = kindOfId(text) === "AuditEntry";
  const found = isId ? sql`id = ${text}` : sql`request_id = ${text} and request_id <> ''`;
  // Prevents the use of the application index: a request has few entries, an application a million.
  const ofApplication = applicationId === undefined ? sql`` : sql`and application_id || '' = ${applicationId}`;
  const statement = sql<{ id: string; action: string }>`
    select id, action from audit_log where ${found} ${ofApplication}
    order by at desc, id desc limit ${sql.lit(hitsMax)}`;
  const { rows } = await queries.executeQuery(statement.compile(queries));
  return rows.map(({ id, action: title }) => ({ id, title, match: isId ? "id" : "requestId" }));
}

/** The maximum length of names, labels, keys and uniqueIds. */
const charactersMax = 256;

// Not named like the column: an order by a column with one value would be empty.
const byId: Order<{ readonly id: string }> = { shape: "one", columns: [sql.ref("id")], keyOf: (row) => [row.id] };
const byUserName: Order<UserRow> = {
  shape: "user_name_key",
  columns: [sql.ref("user_name_key")],
  keyOf: (row) => [row.user_name_key],
};
const byUniqueId: Order<DeviceRow> = {
  shape: "unique_id",
  columns: [sql.ref("unique_id")],
  keyOf: (row) => [row.unique_id ?? ""],
};
const byKey: Order<{ readonly key: string }> = { shape: "key", columns: [sql.ref("key")], keyOf: (row) => [row.key] };
const byApplicationId: Order<{ readonly application_id: string }> = {
  shape: "one",
  columns: [sql.ref("application_id")],
  keyOf: (row) => [row.application_id],
};

async function take<Row>(
  table: string,
  conditions: readonly Condition[],
  order: Order<Row>,
  queries: Queries,
): Promise<Row[]> {
  const scope = { shape: `any ${table}`, from: sql.table(table), select: sql`*`, conditions };
  const { rows } = await scopeStream<Row>(scope, order, false, queries).take({ direction: "forward", count: hitsMax });
  return rows;
}

/** Returns each user once, by the first match. */
function distinct(hits: readonly Hit[]): Hit[] {
  const ids = new Set<string>();
  return hits.filter(({ id }) => ids.size < ids.add(id).size).slice(0, hitsMax);
}
