/**
 * Tests Rollcall on a Citus cluster. With CITUS_POSTGRES, the folder of the programs of a PostgreSQL that has the extension, it
 * starts a coordinator and two workers: `CITUS_POSTGRES=/usr/lib/postgresql/15/bin npm run test:citus`. With CITUS_URL it uses
 * an empty database of a running cluster, whose workers it does not stop and whose log it does not read.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { formatFailure } from "../fuzz/report.ts";
import { run as fuzz } from "../fuzz/run.ts";
import { distributeTables, listUndistributed } from "../server/src/db/distribution.ts";
import { migrate } from "../server/src/db/migrate.ts";
import { statistics } from "../server/src/db/migrations/0001-baseline/statistics.ts";
import { migrations } from "../server/src/db/migrations/list.ts";
import type { Migration } from "../server/src/db/migrations/migration.ts";
import { openDatabase } from "../server/src/db/open.ts";
import { listWaiting } from "../server/src/event-log/backlog.store.ts";
import {
  listBehind,
  listCutOff,
  listServedApplications,
  listWaking,
  listWatched,
} from "../server/src/webhooks/webhooks.store.ts";
import { endEverything } from "../testkit/children.ts";
import { createDeployment, type Deployment, runCli } from "../testkit/deployment.ts";
import { findFreePort } from "../testkit/free-port.ts";
import { type CallOptions, send } from "../testkit/http.ts";
import { signUp } from "../testkit/people.ts";
import { type RunningServer, startServer } from "../testkit/server.ts";
import { formatResult } from "../verify/report.ts";
import { verify } from "../verify/run.ts";
import { run, startThrowawayCitus, type ThrowawayCitus, useCitus } from "./throwaway-citus.ts";
import type { ThrowawayPostgres } from "./throwaway-postgres.ts";

const { CITUS_POSTGRES: programs, CITUS_URL: url } = process.env;
if (programs === undefined && url === undefined) {
  console.error(
    "test:citus needs CITUS_POSTGRES, the folder of the programs of a PostgreSQL with Citus (deploy/build-citus.sh), or CITUS_URL, an empty database of a cluster (deploy/compose.yaml)",
  );
  process.exit(2);
}

/** Maintenance looks for its work in all applications; operators list applications. No request of a client does. */
const mayAskEveryShard = [
  /^select "id" from "mail_outbox" where "due_at" <= \$1/,
  /^select \* from "unfinished_erasures" limit/,
  /^select \* from "resumable_uploads" where ("received" = "length"|"expires_at" <= \$1)/,
  /^select "application_id", "user_id", "id" from "user_tokens" where "expires_at" </,
  /^select "application_id", "device_id", "user_id" from "test_callers" where "ends_at" <=/,
  /^select "application_id", "user_id", "device_id", ("key" from "kept_replies"|"ends_at" from "idempotency_usage") where/,
  /^select "application_id", "subject" from "mail_limits" where "expires_at" </,
  /^select "application_id", "key" from "(limit_buckets|guess_counts)" where "ends_at" </,
  /^select "application_id", "key" from "loose_bytes" where "loose_at" <=/,
  /^select "application_id", "id", "deleted_at" from "users" where deleted_at is not null or is_reshifting = 1/,
  /^select "application_id" from "applications" where "application_id" in/, // those that statistics are written of
  /^select .* from "?applications"?( order by| where "?(moving_to|deleted_at)"?)/,
  /^select "application_id" from "mail_outbox" where "application_id" > /,
  // The webhooks with due deliveries, and the applications that have such webhooks
  /^select distinct "application_id" from "webhooks" where "state" in/,
  // Events of processes that ended before they assigned the positions
  /^\s*select application_id from events where position is null and application_id > /,
  /^\s*select distinct application_id from events where position is null/, // of a restored database
  /^\s*select webhook\.application_id, webhook\.id from webhooks as webhook /,
  // The overview of the deployment, and the current activity of the applications of a page
  /^select "application_id", "name", .* from "applications" where "application_id" in .* and "deleted_at" is null/, // the busiest
  // The application of an id, for operators
  /^\s*select application_id from "\w+"\s+where application_id in \(.*\) and id = /,
  /^select cast\(sum\(files\) as bigint\) as files, .* from applications join file_usage/,
  /^select count\(\*\) as counted from \(select 1 from loose_bytes limit 1001\)/,
  /^select "application_id", "kind", "counted" from "kept_counts" where "application_id" in/,
  /^select application_id, (hour, )?sum\(calls\) as calls.* from statistics where application_id in/,
  /^select "statistics"."application_id", cast\(sum\(calls\) as bigint\) as "calls"/,
];
const options = { connectionsMax: 4, timeoutMs: 60_000 };
const applicationsCount = 12;
const fuzzedCalls = 5_000;

describe("Citus", () => {
  let cluster: ThrowawayCitus;
  before(async () => {
    cluster = url === undefined ? await startThrowawayCitus(`${programs}`) : await useCitus(url);
  });
  after(async () => {
    await endEverything();
    await cluster.stop();
  });
  afterEach(() => assert.deepEqual(cluster.takeFindings().refused, [], "statements that Citus does not support"));

  it("an older schema with data is distributed and upgraded", async () => {
    const database = await openDatabase(cluster.url, options);
    await migrate(database);
    await run(
      cluster.url,
      `drop table app_versions;
      insert into applications (application_id, name, token_version, created_at, deleted_at) values ('app_old', 'Old', 0, 0, null);
      insert into users (application_id, id, user_name, user_name_key, password_hash, celeb_mode, location_fuzzing,
          token_version, created_at, modified_at, last_login_at)
        values ('app_old', 'usr_old', 'Ada', 'ada', '', 0, 0, 0, 0, 0, 0)`,
    );
    const distributed = await distributeTables(database);
    assert.ok(distributed.length > 30 && distributed.includes("users"), distributed.join());
    assert.deepEqual(await distributeTables(database), [], "again");
    const next: Migration = {
      name: "0060-app-versions",
      statements: (ddl) => statistics(ddl).filter((each) => each.compile(database.reads).sql.includes("app_versions")),
    };
    assert.deepEqual(await migrate(database, undefined, { list: [...migrations, next] }), [next.name]);
    await run(cluster.url, `delete from schema_migrations where name = '${next.name}'`);
    assert.deepEqual(await listUndistributed(database.reads), []);
    const rows = await database.reads.selectFrom("users").select(["id", "user_name"]).execute();
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ id: "usr_old", user_name: "Ada" }],
    );
    await database.close();
  });

  describe("a server", () => {
    let deployment: Deployment;
    let server: RunningServer;
    before(async () => {
      deployment = await createDeployment({
        DATABASE_URL: cluster.url,
        RATE_LIMITS: "on",
        STREAM_HEARTBEAT_MS: "1000",
        WEBHOOK_NETWORKS: "127.0.0.1/32",
      });
      await runCli(deployment.settings, "distribute", "--json");
      type Findings = { checks: { check: string; text: string }[] };
      const { checks } = await runCli<Findings>(deployment.settings, "doctor", "--json");
      const found = checks.find(({ check }) => check === "database")?.text;
      assert.match(`${found}`, /Citus has distributed every table$/);
      server = await startServer(deployment.settings);
    });
    after(() => server.end("SIGTERM"));

    it("passes the conformance suite", async () => {
      cluster.takeFindings();
      const otherApplication = await createApplication(deployment, "B");
      const url = new URL(`http://127.0.0.1:${server.port}`);
      const operatorToken = await signInEditor(server.port, deployment);
      const port = await findFreePort();
      const receiver = { url: new URL(`http://127.0.0.1:${port}/hook`), port };
      const { application } = deployment;
      const results = await verify({ url, application, otherApplication, operatorToken, receiver });
      const failed = results.filter(({ outcome }) => outcome === "failed");
      assert.equal(failed.length, 0, failed.map(formatResult).join("\n"));
      const delivered = results.filter(({ group, outcome }) => group === "webhooks" && outcome === "passed");
      assert.ok(delivered.length > 20, `only ${delivered.length} checks of webhooks ran`);
      expectNoFindings(cluster);
    });

    it("performs every operation, including those of operators", async () => {
      cluster.takeFindings();
      const { DATABASE_URL = "", ROLLCALL_SECRET = "" } = deployment.settings;
      const { failures } = await fuzz({
        engine: "postgres",
        database: { DATABASE_URL, ROLLCALL_SECRET },
        calls: fuzzedCalls,
        seed: 1,
        rateLimits: "off",
        only: [],
      });
      expectNoFindings(cluster);
      const wrong = failures.filter(({ kind }) => kind !== "slow"); // the machine of a test may be busy
      assert.deepEqual(wrong.map(formatFailure), []);
    });

    it("finds the webhooks with pending deliveries", async () => {
      const database = await openDatabase(cluster.url, options);
      const scans = [
        listBehind(database.reads),
        listWaking(Date.now(), database.reads),
        listCutOff(database.reads),
        listWaiting(database.reads),
        listServedApplications(database.reads),
        listWatched(10, database.reads),
      ];
      await Promise.all(scans).finally(() => database.close());
    });

    const skip = url !== undefined && "the workers behind CITUS_URL go on running";
    it("loses no answered write when a worker crashes or a shard moves, and keeps serving other applications", {
      skip,
    }, async () => {
      const writers: Writer[] = [];
      for (let index = 0; index < applicationsCount; index += 1) {
        writers.push(await createWriter(await createApplication(deployment, `W${index}`), server.port));
      }
      const [first, second] = cluster.workers;
      assert.ok(first !== undefined && second !== undefined);
      const place = await placesOf(writers, cluster.url);
      const onSecond = writers.filter(({ appid }) => place.get(appid) === Number(new URL(second.url).port));
      const others = writers.filter((writer) => !onSecond.includes(writer));
      assert.ok(onSecond.length > 0 && others.length > 0);
      await Promise.all(writers.map((writer) => writer.write(20)));

      await crash(second);
      await Promise.all(onSecond.map((writer) => writer.expectUnavailable()));
      await Promise.all(others.map((writer) => writer.write(20)));
      await second.restart();
      await Promise.all(onSecond.map((writer) => writer.untilServed()));
      await Promise.all(writers.map((writer) => writer.write(20)));

      const [moving] = onSecond;
      assert.ok(moving);
      const isDone = { value: false };
      const writing = moving.writeUntil(isDone);
      await run(
        cluster.url,
        `select citus_move_shard_placement(get_shard_id_for_distribution_column('applications', '${moving.appid}'),
          '127.0.0.1', ${new URL(second.url).port}, '127.0.0.1', ${new URL(first.url).port}, 'force_logical')`,
      );
      isDone.value = true;
      await writing;
      for (const writer of writers) await writer.expectAll();
    });
  });
});

async function signInEditor(port: number, { settings }: Deployment): Promise<string> {
  const create = ["operators", "create", "--name", "editor", "--role", "editor", "--json"] as const;
  const editor = await runCli<Deployment["operator"]>(settings, ...create);
  return (await send({ port }, "POST", "/_/api/sessions", { body: editor })).body.result.token;
}

function createApplication({ settings }: Deployment, name: string): Promise<Deployment["application"]> {
  return runCli(settings, "apps", "create", "--name", name, "--json");
}

function expectNoFindings(cluster: ThrowawayCitus): void {
  const { multiShard, refused } = cluster.takeFindings();
  assert.deepEqual([...new Set(refused)], [], "statements that Citus does not support");
  const wrong = multiShard.filter((text) => !mayAskEveryShard.some((known) => known.test(text)));
  assert.deepEqual([...new Set(wrong)], [], "statements that went to every shard");
}

/** Ends all processes of the node at once; its next start recovers from its log. */
async function crash(node: ThrowawayPostgres): Promise<void> {
  const exited = once(node.process(), "exit");
  node.process().kill("SIGQUIT");
  await exited;
}

/** The port of the worker that has the rows of each application. */
async function placesOf(writers: readonly Writer[], url: string): Promise<ReadonlyMap<string, number>> {
  const places = new Map<string, number>();
  for (const { appid } of writers) {
    const [row] = await run(
      url,
      `select nodeport from pg_dist_shard_placement
        where shardid = get_shard_id_for_distribution_column('applications', '${appid}')`,
    );
    places.set(appid, Number(row?.["nodeport"]));
  }
  return places;
}

type Writer = Awaited<ReturnType<typeof createWriter>>;

/** A user that writes check-ins one after the other, and records which of them were answered. */
async function createWriter(application: Deployment["application"], port: number) {
  function call(operation: string, options: CallOptions = {}) {
    const [method = "", path = ""] = operation.split(" ");
    return send({ port }, method, path, options);
  }
  const { appid } = application;
  const { token } = await signUp({ call }, { application }, "writer");
  const ids = new Set<string>();

  const create = () => call("POST /checkins", { token, body: { location: "1,2" } });
  async function write(count: number) {
    for (let index = 0; index < count; index += 1) {
      const { status, body, text } = await create();
      assert.equal(status, 201, text);
      ids.add(body.result.id);
    }
  }
  return {
    appid,
    write,
    async writeUntil(isDone: { readonly value: boolean }) {
      while (!isDone.value) await write(1);
    },
    async expectUnavailable() {
      const { status, headers, text } = await create();
      assert.equal(status, 503, text);
      assert.ok(Number(headers["retry-after"]) > 0);
    },
    async untilServed() {
      for (let tries = 0; tries < 300; tries += 1) {
        const { status, body, text } = await create();
        if (status === 201) {
          ids.add(body.result.id);
          return;
        }
        assert.equal(status, 503, text);
        await sleep(100);
      }
      assert.fail("not served again");
    },
    async expectAll() {
      const found = new Set<string>();
      for (let query = "userID=me&pageSize=1000"; query !== ""; ) {
        const { pageResults, nextToken } = (await call(`GET /checkins?${query}`, { token })).body.result;
        for (const { id } of pageResults) found.add(id);
        query = nextToken === undefined ? "" : `pagingToken=${encodeURIComponent(nextToken)}`;
      }
      const lost = [...ids].filter((id) => !found.has(id));
      assert.deepEqual(lost, [], "answered and lost");
    },
  };
}
