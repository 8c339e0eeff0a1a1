import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { NewApplication } from "../src/applications/applications.store.ts";
import { noProgress } from "../src/cli/progress.ts";
import { commands } from "../src/cli/run.ts";
import { loadGuardedSettings } from "../src/tenancy/application-settings.ts";
import { runCommand } from "./command-line.ts";
import { startTestApp, type TestApp } from "./harness.ts";

/** Commands that change an existing application, while a server runs on the same database. */

let test: TestApp;
let settings: Readonly<Record<string, string>>;
before(async () => {
  test = await startTestApp();
  const { dataDir, databaseUrl, secrets } = test.config;
  settings = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ROLLCALL_SECRET: secrets?.join() ?? "" };
});
after(() => test.close());

function rollcall(...args: string[]) {
  return runCommand(args, settings);
}

/** Runs a command that must succeed, and returns its output. */
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await rollcall(...args);
  assert.deepEqual([code, stderr], [0, ""], args.join(" "));
  return stdout;
}

async function statusOf(token: string): Promise<number> {
  return (await test.call("GET /users/me", { token })).status;
}

async function register({ appid, appkey }: NewApplication): Promise<number> {
  return (await test.call("POST /devices", { body: { appid, appkey, platform: "test" } })).status;
}

describe("rollcall apps rename, suspend, resume, revoke-tokens", () => {
  it("changes take effect on the running server with the next request", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const { token } = await test.signUp("Jane", application);
    assert.equal(await statusOf(token), 200);
    assert.equal(await printed("apps", "rename", appid, "--name", " Näw "), `renamed ${appid}\n`);
    assert.equal(await printed("apps", "suspend", appid), `suspended ${appid}\n`);
    assert.equal(await statusOf(token), 403);
    assert.match(await printed("apps", "list"), new RegExp(`${appid}\tNäw\t[^\t]+\tsuspended\n`));
    assert.equal(await printed("apps", "resume", appid), `resumed ${appid}\n`);
    assert.equal(await statusOf(token), 200);
    assert.equal(await printed("apps", "revoke-tokens", appid, "--yes"), `revoked every token of ${appid}\n`);
    assert.equal(await statusOf(token), 401);
    assert.equal(await register(application), 201);
  });
});

describe("rollcall apps keys, apps compromised", () => {
  it("keys are created, listed, retired and revoked, with effect on the running server", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const plain = await printed("apps", "keys", "create", appid, "--label", "Version 2");
    const [, id = "", appkey = ""] = /^id {6}(apk_\w+)\nappkey {2}(rk_\S+)\nlabel {3}Version 2\n$/.exec(plain) ?? [];
    const { token } = await test.signUp("Jane", { appid, appkey });
    assert.equal(await statusOf(token), 200);

    const listed = JSON.parse(await printed("apps", "keys", "list", appid, "--json"));
    const [first, second] = listed;
    const [created, lastRegistered] = [second.created, new Date(test.now()).toISOString()];
    const expected = { id, label: "Version 2", created, state: "active", devices: "1", lastRegistered };
    assert.deepEqual(second, expected);
    const table = await printed("apps", "keys", "list", appid);
    assert.match(table, /^id\tlabel\tcreated\tstate\tdevices\tlastRegistered\n/);
    assert.ok(!table.includes("rk_"));

    assert.match(await printed("apps", "keys", "revoke-tokens", appid, id, "--yes"), /^revoked every token of apk_/);
    assert.equal(await statusOf(token), 401);
    assert.equal(await printed("apps", "keys", "retire", appid, id), `retired ${id}\n`);
    assert.equal(await register({ appid, appkey }), 401);
    const last = await rollcall("apps", "keys", "retire", appid, first.id);
    assert.deepEqual([last.code, last.stdout], [2, ""]);
    assert.match(last.stderr, /^no device could register any more/);

    const given = JSON.parse(await printed("apps", "compromised", appid, "--yes", "--json"));
    assert.deepEqual(Object.keys(given), ["id", "appkey"]);
    assert.deepEqual([await register(application), await register({ appid, appkey: given.appkey })], [401, 201]);
    assert.equal(await printed("apps", "keys", "retire", appid, given.id, "--yes"), `retired ${given.id}\n`);
    assert.equal(await printed("apps", "keys", "retire", appid, first.id), `compromised ${first.id}\n`);
  });
});

describe("commands that run operations", () => {
  it("list the items of all pages", async () => {
    const { appid } = await test.createApplication();
    for (let n = 0; n < 4; n += 1) await printed("apps", "keys", "create", appid);
    const run = await runCommand(["apps", "keys", "list", appid, "--json"], {
      ...settings,
      PAGE_ITEMS_DEFAULT: "2",
      PAGE_ITEMS_MAX: "2",
    });
    const ids: string[] = JSON.parse(run.stdout).map(({ id }: { id: string }) => id);
    assert.equal(new Set(ids).size, 5);
  });

  it("create neither a secret nor a folder for files if they need none", async () => {
    const { appid } = await test.createApplication();
    const missing = join(test.config.dataDir, "missing");
    const filesUrl = `${pathToFileURL(join(missing, "files"))}`;
    const config = { ...test.config, secrets: undefined, dataDir: missing, filesUrl };
    for (const command of ["apps suspend", "apps secret delete", "apps keys list", "audit"]) {
      await commands[command]?.(config, { yes: true }, [appid], { progress: noProgress, warn() {} });
    }
    assert.equal(existsSync(missing), false);
  });

  it("refuse an application that is moving to another region", async () => {
    const { appid } = await test.createApplication();
    const id = test.app.ids.newId("User");
    await test.app.database.write(({ queries }) =>
      queries.updateTable("applications").set({ moving_to: "eu" }).where("application_id", "=", appid).execute(),
    );
    for (const args of [
      ["apps", "suspend", appid],
      ["apps", "keys", "list", appid],
      ["users", "disable", appid, id],
    ]) {
      const { code, stdout, stderr } = await rollcall(...args);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.ok(stderr.startsWith(`${appid} is moving to the region eu\n`), stderr);
    }
  });
});

describe("rollcall apps secret", () => {
  it("a generated secret, or one from a file, is used and required by the running server", async () => {
    const { appid, appkey } = await test.createApplication();
    const signature = async () => {
      const { body } = await test.call("POST /devices", { body: { appid, appkey, platform: "test" } });
      return body.result.serverSignature;
    };
    const right = (secret: string) => createHmac("sha256", secret).update(`${appkey}\n`).digest("hex");
    const { secret } = JSON.parse(await printed("apps", "secret", "set", appid, "--json"));
    assert.equal(await signature(), right(secret));

    const file = join(test.config.dataDir, "shared");
    writeFileSync(file, "sixteen letters!\n");
    assert.equal(await printed("apps", "secret", "set", appid, file), "secret  sixteen letters!\n");
    assert.equal(await signature(), right("sixteen letters!"));
    assert.match(await printed("apps", "secret", "delete", appid, "--yes"), /^deleted the shared secret/);
    assert.equal(await signature(), undefined);
  });
});

describe("rollcall apps configure with mail", () => {
  it("prints no password, and does not change the stored one if the file has none", async () => {
    const { appid } = await test.createApplication();
    const file = join(test.config.dataDir, "mail.json");
    for (const password of [":s3cret", ""]) {
      writeFileSync(file, JSON.stringify({ mail: { smtpUrl: `smtp://user${password}@mail.example` } }));
      const shown = await printed("apps", "configure", appid, file, "--json");
      assert.deepEqual(JSON.parse(shown), { oidc: {}, mail: { smtpUrl: "smtp://user@mail.example" } });
    }
    const { reads } = test.app.database;
    const stored = await loadGuardedSettings(appid, reads);
    assert.ok(!JSON.stringify(stored).includes("s3cret"));
    const { settings } = test.app.settingsSealer.open(appid, stored);
    assert.equal(settings.mail?.smtpUrl, "smtp://user:s3cret@mail.example");
  });
});

describe("incorrect usage", () => {
  it("a wrong command prints the reason and the usage, exits with 2, and changes nothing", async () => {
    const application = await test.createApplication("Kept");
    const { appid } = application;
    const { token } = await test.signUp("Jane", application);
    const never = test.app.ids.newId("App");
    const key = test.app.ids.newId("ApplicationKey");
    const short = join(test.config.dataDir, "short");
    writeFileSync(short, "fifteen letters");
    const wrong: [args: string[], reason: RegExp][] = [
      [["apps", "rename", appid], /needs --name/],
      [["apps", "rename", appid, "--name", "a\nb"], /line break/],
      [["apps", "suspend"], /APPID/],
      [["apps", "suspend", "nonsense"], /APPID/],
      [["apps", "suspend", never], /no application/],
      [["apps", "revoke-tokens", appid], /--yes/],
      [["apps", "compromised", appid], /--yes/],
      [["apps", "keys"], /Usage/],
      [["apps", "keys", "list", never], /no application/],
      [["apps", "keys", "create", appid, "--label", " "], /--label/],
      [["apps", "keys", "retire", appid], /KEYID/],
      [["apps", "keys", "retire", appid, key], /has no key/],
      [["apps", "keys", "revoke-tokens", appid, key], /--yes/],
      [["apps", "keys", "revoke-tokens", appid, key, "--yes"], /has no key/],
      [["apps", "secret", "set", appid, short], /16 to 256/],
      [["apps", "secret", "delete", appid], /--yes/],
    ];
    const results = await Promise.all(wrong.map(([args]) => rollcall(...args)));
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ""], `${wrong[n]?.[0].join(" ")}`);
      assert.match(stderr, wrong[n]?.[1] ?? /never/);
      assert.match(stderr, /Usage: rollcall/);
      assert.doesNotMatch(stderr, /\n\s+at |fifteen/);
    }
    assert.equal(await statusOf(token), 200);
    assert.equal(await register(application), 201);
  });
});
