import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { tablesInErasureOrder } from "../src/db/table-catalogue.ts";
import { runCommand } from "./command-line.ts";
import { assertError, startTestApp, type TestApp } from "./harness.ts";
import { noEnvFile, runProgram } from "./running-server.ts";
import { readZip } from "./zips.ts";

/** The command line, while a server runs on the same database. */

let test: TestApp;
let settings: Readonly<Record<string, string>>;
before(async () => {
  test = await startTestApp();
  const { dataDir, databaseUrl } = test.config;
  settings = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ROLLCALL_SECRET: "another secret for the commands" };
});
after(() => test.close());

function rollcall(...args: string[]) {
  return runCommand(args, settings);
}

/** Registers a device with these credentials, and returns whether it succeeds. */
async function canRegister({ appid, appkey }: { appid: string; appkey: string }): Promise<boolean> {
  const { status } = await test.call("POST /devices", { body: { appid, appkey, platform: "test" } });
  return status === 201;
}

describe("rollcall apps create", () => {
  it("--json prints one line with the application id and key, and the running server accepts them", async () => {
    const { code, stdout, stderr } = await rollcall("apps", "create", "--name", "Näme", "--json");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^\{"appid":"app_[0-9a-z]{26}","appkey":"rk_[\w-]{43}"\}\n$/);
    const created = JSON.parse(stdout);
    assert.ok(await canRegister(created));
    const { reads } = test.app.database;
    const rows = await reads.selectFrom("applications").selectAll().execute();
    assert.ok(rows.some(({ name, application_id }) => name === "Näme" && application_id === created.appid));
    const keys = await reads.selectFrom("application_keys").selectAll().execute();
    assert.ok(!JSON.stringify(keys).includes(created.appkey), "only its digest is stored");
  });

  it("prints the same in plain text without --json", async () => {
    const { code, stdout } = await rollcall("apps", "create", "--name", "Plain");
    assert.equal(code, 0);
    const [, appid = "", appkey = ""] = /^appid {3}(app_\w+)\nappkey {2}(rk_\S+)\n$/.exec(stdout) ?? [];
    assert.ok(await canRegister({ appid, appkey }));
  });

  it("a missing name prints the reason and the usage, exits with 2, and creates nothing", async () => {
    const count = async () => (await test.app.database.reads.selectFrom("applications").selectAll().execute()).length;
    const before = await count();
    const results = [[], ["--name", "  "], ["--name"]].map((args) => rollcall("apps", "create", ...args));
    for (const { code, stdout, stderr } of await Promise.all(results)) {
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /--name[\s\S]*Usage: rollcall/);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
    assert.equal(await count(), before);
  });
});

describe("rollcall apps list", () => {
  it("prints tab-separated lines without colours into a pipe, and one array with --json", async () => {
    const { appid } = await test.createApplication("Listed");
    const { code, stdout, stderr } = await rollcall("apps", "list");
    assert.deepEqual([code, stderr], [0, ""]);
    const [head, ...lines] = stdout.trimEnd().split("\n");
    assert.equal(head, "appid\tname\tcreated\tstate");
    const created = new Date(test.now()).toISOString();
    assert.ok(lines.includes(`${appid}\tListed\t${created}\tactive`), stdout);
    assert.ok(!stdout.includes("\u001b"));

    const rows = JSON.parse((await rollcall("apps", "list", "--json")).stdout);
    assert.equal(rows.length, lines.length);
    assert.deepEqual(
      rows.find((row: { appid: string }) => row.appid === appid),
      { appid, name: "Listed", created, state: "active" },
    );
  });

  it("runs as node_modules/.bin/rollcall, as npx does", async () => {
    const bin = join(import.meta.dirname, "../../node_modules/.bin");
    const env = { ...settings, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
    const { stdout } = await promisify(execFile)(join(bin, "rollcall"), ["apps", "list"], { cwd: noEnvFile, env });
    assert.match(stdout, /^appid\tname\tcreated\tstate\n/);
  });
});

describe("rollcall apps configure", () => {
  const google = { issuer: "https://accounts.google.com", audience: "id", jwksUrl: "https://www.googleapis.com/keys" };

  function write(name: string, text: string): string {
    const file = join(test.config.dataDir, name);
    writeFileSync(file, text);
    return file;
  }

  async function stored(appid: string): Promise<unknown> {
    const { reads } = test.app.database;
    const { settings } = await reads
      .selectFrom("applications")
      .select("settings")
      .where("application_id", "=", appid)
      .executeTakeFirstOrThrow();
    return JSON.parse(settings);
  }

  it("replaces all settings with the settings of the file, and prints them", async () => {
    const { appid } = await test.createApplication();
    const retention = { crashReportsDays: 7 };
    const file = write("settings.json", JSON.stringify({ oidc: { google, own: google }, retention }));
    const { code, stdout, stderr } = await rollcall("apps", "configure", appid, file);
    assert.deepEqual(
      [code, stdout, stderr],
      [0, `configured ${appid}\noidc  google, own\nkept  metrics 90 days, crash reports 7 days\n`, ""],
    );
    assert.deepEqual(await stored(appid), { oidc: { google, own: google }, retention });

    const second = await rollcall("apps", "configure", appid, write("other.json", '{ "oidc": {} }'), "--json");
    assert.deepEqual([second.code, second.stdout], [0, '{"oidc":{}}\n']);
    assert.deepEqual(await stored(appid), { oidc: {} });
  });

  it("invalid settings print every invalid member with its rule, exit with 2, and store nothing", async () => {
    const { appid } = await test.createApplication();
    const wrong = { oidc: { google: { ...google, jwksUrl: "http://elsewhere" } }, oicd: {} };
    const { code, stdout, stderr } = await rollcall("apps", "configure", appid, write("w.json", JSON.stringify(wrong)));
    assert.deepEqual([code, stdout], [2, ""]);
    const [first, ...problems] = stderr.trimEnd().split("\n");
    assert.equal(first, "Wrong application settings:");
    assert.deepEqual(problems, [
      '  the file has an unknown member "oicd"; it can have oidc, retention, quotas, tokenLifetimes, disabledOperations, origins, signedRequests, limits, mail, locationData, debug, email, signIn, passwords, events, rehearsal, webhooks',
      "  oidc.google.jwksUrl must be an https:// URL without a password (http:// on this machine only)",
    ]);
    assert.deepEqual(await stored(appid), {});
  });

  it("settings that are too long in total are refused like invalid ones", async () => {
    const { appid } = await test.createApplication();
    const oidc = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`provider${n}`, google]));
    const { code, stdout, stderr } = await rollcall(
      "apps",
      "configure",
      appid,
      write("l.json", JSON.stringify({ oidc })),
    );
    const reason = "Wrong application settings:\n  the settings must have at most 65536 characters as JSON\n";
    assert.deepEqual([code, stdout, stderr], [2, "", reason]);
    assert.deepEqual(await stored(appid), {});
  });

  it("needs an existing application and a readable file", async () => {
    const file = write("right.json", "{}");
    const wrong: [args: string[], code: number, reason: RegExp][] = [
      [[], 2, /APPID/],
      [["nonsense", file], 2, /APPID/],
      [[test.application.appid], 2, /FILE\.json/],
      [[test.app.ids.newId("App"), file], 2, /no application/],
      [[test.application.appid, join(test.config.dataDir, "nowhere.json")], 1, /ENOENT.*nowhere\.json/],
    ];
    const results = await Promise.all(wrong.map(([args]) => rollcall("apps", "configure", ...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [wrong[n]?.[1], ""]);
      assert.match(stderr, wrong[n]?.[2] ?? /never/);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
  });
});

async function signIn({ name, password }: { name: string; password: string }) {
  const { status, body } = await test.call("POST /_/api/sessions", { body: { name, password } });
  return status === 201 ? body.result : undefined;
}

/** Lists the audit log entries of commands about this subject, oldest first. */
async function recorded(target: string) {
  const { reads } = test.app.database;
  const rows = await reads.selectFrom("audit_log").selectAll().where("target", "=", target).orderBy("id").execute();
  const commands = rows.filter(({ actor_kind }) => actor_kind === "cli");
  return commands.map(({ action, application_id, details }) => [action, application_id, JSON.parse(details)]);
}

describe("rollcall operators create", () => {
  it("--json prints one line with id, name, role and a password that signs in on the running server", async () => {
    const args = ["operators", "create", "--name", " Ädä 😀 ", "--role", "Owner", "--json"];
    const { code, stdout, stderr } = await rollcall(...args);
    assert.deepEqual([code, stderr], [0, ""]);
    const { id, password } = JSON.parse(stdout);
    assert.equal(stdout, `${JSON.stringify({ id, name: "Ädä 😀", role: "owner", password })}\n`);
    assert.match(id, /^opr_[0-9a-z]{26}$/);
    assert.match(password, /^[\w-]{20}$/);
    assert.equal((await signIn({ name: "Ädä 😀", password })).operator.role, "owner");
    assert.deepEqual(await recorded(id), [["createOperator", "", { name: "given", role: "owner" }]]);

    const listed = await rollcall("operators", "list", "--json");
    const operators: { id: string; created: string; lastLogin: string }[] = JSON.parse(listed.stdout);
    const found = operators.find((operator) => operator.id === id);
    assert.ok(found !== undefined && Date.parse(found.created) > 0 && Date.parse(found.lastLogin) > 0);
    const { created, lastLogin } = found;
    assert.deepEqual(found, { id, name: "Ädä 😀", role: "owner", created, lastLogin });
    assert.doesNotMatch(listed.stdout, /argon2|ro_/);
    const plain = await rollcall("operators", "list");
    assert.match(plain.stdout, /^id\tname\trole\tcreated\tlastLogin\n/);
    assert.ok(plain.stdout.includes(`\n${id}\tÄdä 😀\towner\t${created}\t${lastLogin}\n`));
  });

  it("prints the same in plain text without --json; the default role is viewer", async () => {
    const { code, stdout } = await rollcall("operators", "create", "--name", "plain");
    assert.equal(code, 0);
    const lines = /^id {8}opr_\w+\nname {6}plain\nrole {6}viewer\npassword {2}(\S+)\n$/.exec(stdout);
    assert.equal((await signIn({ name: "plain", password: lines?.[1] ?? "" })).operator.role, "viewer");
  });

  it("a wrong or taken name, or a wrong role, prints the reason, exits with 2, and creates nothing", async () => {
    const { name } = await test.createOperator("Tåken");
    const { length } = await test.app.database.reads.selectFrom("operators").selectAll().execute();
    const wrong: [args: string[], reason: RegExp][] = [
      [[], /--name/],
      [["--name"], /--name/],
      [["--name", " \t "], /must not be empty/],
      [["--name", "😀".repeat(257)], /at most 256 characters/],
      [["--name", "a\u0007b"], /control characters/],
      [["--name", "a\nb"], /control characters/],
      [["--name", "a\u2028b"], /control characters/],
      [["--name", name.normalize("NFD")], /an operator named Tåken already exists/],
      [["--name", "a", "--role", "admin"], /must be one of viewer, editor, owner/],
    ];
    const results = await Promise.all(wrong.map(([args]) => rollcall("operators", "create", ...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, wrong[n]?.[1] ?? /never/);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
    assert.equal((await test.app.database.reads.selectFrom("operators").selectAll().execute()).length, length);
    assert.equal((await rollcall("operators", "create", "--name", "😀".repeat(256))).code, 0);
  });
});

describe("rollcall operators role and password", () => {
  it("a new role takes effect on the running server with the next request", async () => {
    const { id, token } = await test.createOperator(undefined, "viewer");
    const { id: other } = await test.createOperator();
    const list = () => test.call(`GET /_/api/sessions?operatorId=${other}`, { token });
    assert.equal((await list()).status, 403);
    const { code, stdout, stderr } = await rollcall("operators", "role", id, "owner");
    assert.deepEqual([code, stdout, stderr], [0, `${id} is owner\n`, ""]);
    assert.equal((await list()).status, 200);
    assert.deepEqual(await recorded(id), [
      ["changeOperator", "", { role: "owner", changes: { role: { from: "viewer", to: "owner" } } }],
    ]);
  });

  it("a new password is printed once, the old one is refused, and the sessions are revoked", async () => {
    const operator = await test.createOperator();
    const { code, stdout } = await rollcall("operators", "password", operator.id);
    const lines = /^id {8}(opr_\w+)\npassword {2}(\S+)\n$/.exec(stdout);
    assert.deepEqual([code, lines?.[1]], [0, operator.id]);
    assert.equal((await test.call("GET /_/api/operators/me", operator)).status, 401);
    assert.equal(await signIn(operator), undefined);
    assert.ok(await signIn({ name: operator.name, password: lines?.[2] ?? "" }));
    const json = await rollcall("operators", "password", operator.id, "--json");
    const { password } = JSON.parse(json.stdout);
    assert.ok(await signIn({ name: operator.name, password }));
    const trail = await recorded(operator.id);
    assert.deepEqual(trail, Array(2).fill(["changeOperator", "", { password: "given" }]));
  });

  it("an unknown operator or role exits with 2, and changes nothing", async () => {
    const { id, name, password } = await test.createOperator();
    const wrong: [args: string[], reason: RegExp][] = [
      [["role"], /ID/],
      [["role", id], /ROLE/],
      [["role", id, "admin"], /must be one of/],
      [["role", test.app.ids.newId("Operator"), "viewer"], /no operator/],
      [["password"], /ID/],
      [["password", test.app.ids.newId("User")], /ID/],
      [["password", test.app.ids.newId("Operator")], /no operator/],
    ];
    const results = await Promise.all(wrong.map(([args]) => rollcall("operators", ...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, wrong[n]?.[1] ?? /never/);
    }
    assert.ok(await signIn({ name, password }));
  });

  it("the role of the last owner cannot change, and the refusal is in the audit log", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    const { id } = await app.createOperator();
    const { dataDir, databaseUrl } = app.config;
    const own = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ROLLCALL_SECRET: "another secret for the commands" };
    for (const args of [
      ["role", id, "viewer"],
      ["delete", id, "--yes"],
    ]) {
      const { code, stderr } = await runProgram("src/cli/cli.ts", ["operators", ...args], own);
      assert.equal(code, 2);
      assert.ok(stderr.startsWith(`${id} is the last owner\n`), stderr);
    }
    const { reads } = app.app.database;
    const refused = await reads.selectFrom("audit_log").selectAll().where("target", "=", id).execute();
    assert.deepEqual(
      refused.map(({ actor_kind, action, details }) => [actor_kind, action, JSON.parse(details)]).toSorted(),
      ["changeOperator", "deleteOperator"].map((action) => ["cli", action, { error: "ObjectPermissionDenied" }]),
    );
    const rows = await reads.selectFrom("operators").select("role").execute();
    assert.deepEqual(
      rows.map(({ role }) => role),
      ["owner"],
    );
  });
});

describe("rollcall operators delete", () => {
  it("revokes only the sessions of that operator, with the running server's next request", async () => {
    const [gone, stays] = [await test.createOperator(), await test.createOperator()];
    assert.equal((await test.call("GET /_/api/applications", gone)).status, 200);
    const { code, stdout, stderr } = await rollcall("operators", "delete", gone.id, "--yes");
    assert.deepEqual([code, stdout, stderr], [0, `deleted ${gone.id}\n`, ""]);
    const refused = await test.call("GET /_/api/applications", gone);
    assertError(refused, 401, "AuthFailed", 256, "An operator token is required.");
    assert.equal((await test.call("GET /_/api/applications", stays)).status, 200);
    assert.equal((await rollcall("operators", "delete", gone.id, "--yes")).code, 2);
    assert.deepEqual(await recorded(gone.id), [["deleteOperator", "", {}]]);
    await test.createOperator(gone.name);
  });

  it("a missing --yes or an unknown operator exits with 2, and deletes nothing", async () => {
    const operator = await test.createOperator();
    const wrong: [args: string[], reason: RegExp][] = [
      [[operator.id], /--yes/],
      [["--yes"], /ID/],
      [["nonsense", "--yes"], /ID/],
      [[test.app.ids.newId("User"), "--yes"], /ID/],
      [[test.app.ids.newId("Operator"), "--yes"], /no operator/],
    ];
    const results = await Promise.all(wrong.map(([args]) => rollcall("operators", "delete", ...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, wrong[n]?.[1] ?? /never/);
    }
    assert.equal((await test.call("GET /_/api/applications", operator)).status, 200);
  });
});

describe("rollcall audit", () => {
  it("prints the entries of all applications or of one, newest first", async () => {
    const created = JSON.parse((await rollcall("apps", "create", "--name", "Trail", "--json")).stdout);
    const { appid } = created;
    const file = join(test.config.dataDir, "trail.json");
    writeFileSync(file, "{}");
    await rollcall("apps", "configure", appid, file);
    await rollcall("apps", "delete", appid, "--yes");
    const actions = [
      ["createApplication", { name: "given" }],
      ["putApplicationSettings", {}],
      ["deleteApplication", { confirm: "given" }],
    ] as const;
    assert.deepEqual(
      await recorded(appid),
      actions.map(([action, details]) => [action, appid, details]),
    );

    const { code, stdout, stderr } = await rollcall("audit", "--app", appid);
    assert.deepEqual([code, stderr], [0, ""]);
    const [head, ...lines] = stdout.replace(/\n$/, "").split("\n");
    assert.equal(head, "at\tactor\tname\taction\tapp\ttarget\taddress\trequestId\tdetails\tcount\tlastSeen");
    assert.deepEqual(
      lines.map((line) => line.split("\t").slice(1)),
      actions
        .toReversed()
        .map(([action, details]) => ["cli", "", action, appid, appid, "", "", JSON.stringify(details), "", ""]),
    );

    const { token } = await test.createOperator("Äda");
    await test.call("DELETE /_/api/sessions/current", { token });
    const all: { name: string; action: string }[] = JSON.parse((await rollcall("audit", "--json")).stdout);
    assert.deepEqual(
      all.filter(({ name }) => name === "Äda").map(({ action }) => action),
      ["deleteOperatorSession"],
    );
    assert.equal((await rollcall("audit", "--app", "nonsense")).code, 2);
  });
});

describe("rollcall apps delete", () => {
  it("a missing --yes or an unknown application exits with 2, and deletes nothing", async () => {
    const application = await test.createApplication();
    const device = await test.registerDevice(application);
    const wrong: [args: string[], reason: RegExp][] = [
      [[application.appid], /--yes/],
      [["--yes"], /APPID/],
      [["nonsense", "--yes"], /APPID/],
      [[test.app.ids.newId("User"), "--yes"], /APPID/],
      [[test.app.ids.newId("App"), "--yes"], /no application/],
    ];
    const results = await Promise.all(wrong.map(([args]) => rollcall("apps", "delete", ...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, wrong[n]?.[1] ?? /never/);
    }
    assert.ok(await canRegister(application));
    const body = { username: "still here", password: "password" };
    assert.equal((await test.call("POST /users", { token: device, body })).status, 200);
  });

  it("revokes every token with the running server's next request, and deletes every row of this application and no other", async () => {
    const doomed = await test.createApplication();
    const user = await test.signUp("Jane", doomed);
    const other = await test.signUp("Jane");
    for (const { token } of [user, other]) {
      await test.call("POST /checkins", { token, body: { location: "1,2", comment: "x" } });
      await test.call("POST /users/me/identities/provider", { token, body: { identityId: "jane" } });
    }
    const loggedOut = await test.signUp("Joe", doomed);
    await test.call("POST /users/me/logout", { token: loggedOut.token });
    assert.equal((await test.call("GET /users/me", { token: user.token })).status, 200); // valid, and cached by the server

    const { code, stdout, stderr } = await rollcall("apps", "delete", doomed.appid, "--yes");
    assert.deepEqual([code, stdout, stderr], [0, `deleted ${doomed.appid}\n`, ""]);

    const refused = await test.call("GET /users/me", { token: user.token });
    assertError(refused, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    const body = { username: "Late", password: "password" };
    assert.equal((await test.call("POST /users", { token: user.deviceToken, body })).status, 401);
    const registration = await test.call("POST /devices", { body: { ...doomed, platform: "test" } });
    assert.equal(registration.body.error, "AuthAppCredentialsInvalid");

    const { reads } = test.app.database;
    for (const table of ["applications", ...tablesInErasureOrder] as const) {
      const rows = await reads.selectFrom(table).select("application_id").execute();
      assert.ok(!rows.some(({ application_id }) => application_id === doomed.appid), table);
      assert.ok(
        !["devices", "users"].includes(table) ||
          rows.some(({ application_id }) => application_id === test.application.appid),
      );
    }
    assert.equal((await test.call("GET /users/me", { token: other.token })).body.result.id, other.id);
    assert.equal((await rollcall("apps", "delete", doomed.appid, "--yes")).code, 2);
  });
});

describe("rollcall", () => {
  it("an unknown command prints the usage and exits with 2, even if JavaScript objects have a member of that name", async () => {
    const unknown = [
      [],
      ["nonsense"],
      ["apps", "nonsense"],
      ["apps", "list", "--nonsense"],
      ["constructor"],
      ["__proto__"],
    ];
    const results = await Promise.all(unknown.map((args) => rollcall(...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ""], `rollcall ${unknown[n]?.join(" ")}`);
      assert.match(stderr, /Usage: rollcall <command>/);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
  });

  it("unexpected words and options are refused before the command runs", async () => {
    const [appid, operatorId] = [`app_${"0".repeat(26)}`, `opr_${"0".repeat(26)}`];
    for (const [args, message] of [
      [["serve", "throwaway"], '"throwaway" is a word too many for serve'],
      [["apps", "delete", appid, appid, "--yes"], `"${appid}" is a word too many for apps delete`],
      [["operators", "role", operatorId, "owner", "owner"], '"owner" is a word too many for operators role'],
      [["apps", "list", "--region", "eu"], "apps list has no option --region"],
      [["apps", "export", appid, "x.tar", "--without-files"], "apps export has no option --without-files"],
      [["backup", "x.tar", "--throwaway"], "backup has no option --throwaway"],
    ] as const) {
      const { code, stdout, stderr } = await rollcall(...args);
      assert.deepEqual([code, stdout], [2, ""], args.join(" "));
      assert.ok(stderr.includes(`${message}\n`), stderr);
    }
  });

  it("an invalid id is reported with the rule for its kind", async () => {
    const appid = `app_${"0".repeat(26)}`;
    for (const [args, word, prefix] of [
      [["apps", "rename", "app_x", "--name", "y"], "an APPID", "app"],
      [["apps", "keys", "retire", appid, "app_x"], "a KEYID", "apk"],
      [["users", "disable", appid, "app_x"], "a USERID", "usr"],
      [["devices", "revoke", appid, "app_x"], "a DEVICEID", "dev"],
      [["operators", "role", "app_x", "owner"], "an ID", "opr"],
      [["audit", "--app", "app_x"], "an APPID", "app"],
    ] as const) {
      const { code, stderr } = await rollcall(...args);
      assert.equal(code, 2, args.join(" "));
      const rule = `"app_x" is not ${word}, which is ${prefix}_ and 26 of the characters 0-9 and a-z\n`;
      assert.ok(stderr.includes(rule), stderr);
    }
    assert.match((await rollcall("apps", "suspend")).stderr, /apps suspend needs an APPID\n/);
  });

  it("--help prints the usage on standard output", async () => {
    const { code, stdout, stderr } = await rollcall("--help");
    assert.deepEqual([code, stderr], [0, ""]);
    for (const command of ["serve", "migrate", "apps create", "apps list", "apps configure", "apps delete"]) {
      assert.match(stdout, new RegExp(`^ {2}${command} `, "m"));
    }
  });

  it("all invalid settings are reported, without a stack, with a non-zero exit code", async () => {
    const { code, stderr } = await runProgram("src/cli/cli.ts", ["apps", "list"], {
      ...settings,
      PORT: "x",
      REGION: "!",
    });
    assert.notEqual(code, 0);
    assert.match(stderr, /PORT must[\s\S]*REGION must|REGION must[\s\S]*PORT must/);
    assert.doesNotMatch(stderr, /\n\s+at /);
  });
});

describe("rollcall users", () => {
  it("disable, enable and revoke take effect on the running server with the next request", async () => {
    const { appid } = test.application;
    const jane = await test.signUp();
    const status = async () => (await test.call("GET /users/me", { token: jane.token })).status;
    assert.equal(await status(), 200);
    assert.equal((await rollcall("users", "disable", appid, jane.id)).stdout, `disabled ${jane.id}\n`);
    assert.equal(await status(), 403);
    assert.equal((await rollcall("users", "enable", appid, jane.id)).stdout, `enabled ${jane.id}\n`);
    assert.equal(await status(), 200);
    assert.equal((await rollcall("users", "revoke", appid, jane.id)).code, 0);
    assert.equal(await status(), 401);
  });

  it("export writes an archive that only its owner may read, or nothing; erase needs --yes", async () => {
    const { appid } = test.application;
    const jane = await test.signUp();
    await test.call("POST /checkins", { token: jane.token, body: { location: "1,2", comment: "hers" } });
    const file = join(test.config.dataDir, "jane.zip");
    const exported = await rollcall("users", "export", appid, jane.id, file);
    assert.deepEqual([exported.code, exported.stdout], [0, `exported ${jane.id} to ${file}\n`]);
    const entries = await readZip(readFileSync(file));
    assert.equal(JSON.parse(`${entries.get("manifest.json")}`).counts.checkins, 1);
    assert.match(`${entries.get("checkins.ndjson")}`, /"comment":"hers"/);
    assert.equal(statSync(file).mode & 0o077, 0);

    assert.equal((await rollcall("users", "erase", appid, jane.id)).code, 2);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
    assert.equal((await rollcall("users", "erase", appid, jane.id, "--yes")).stdout, `erased ${jane.id}\n`);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 401);
    const again = await rollcall("users", "export", appid, jane.id, `${file}2`);
    assert.deepEqual([again.code, existsSync(`${file}2`)], [2, false]);
    assert.match(again.stderr, /there is no user/);
  });

  it("an id of no user of the application exits with 2", async () => {
    const { appid } = test.application;
    const elsewhere = await test.signUp("Elsewhere", await test.createApplication());
    for (const args of [[], [appid], [appid, "me"], [appid, elsewhere.id], [elsewhere.id, appid]]) {
      const { code, stderr } = await rollcall("users", "disable", ...args);
      assert.equal(code, 2);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
    assert.equal((await test.call("GET /users/me", { token: elsewhere.token })).status, 200);
  });
});
