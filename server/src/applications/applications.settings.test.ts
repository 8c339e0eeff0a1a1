import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, it, type TestContext } from "node:test";
import { SMTPServer } from "smtp-server";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { until } from "../../test/until.ts";
import { maintain } from "../app/maintenance.ts";
import {
  type ApplicationSettings,
  loadGuardedSettings,
  parseApplicationSettings,
  updateApplicationSettings,
} from "../tenancy/application-settings.ts";
import { openSigningSecret } from "../tenancy/policies.ts";
import { sealOutdatedSettings } from "../tenancy/settings-changes.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
let token: string;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
  token = (await test.createOperator()).token;
});
after(async () => {
  await other.close();
  await test.close();
});

const provider = { issuer: "https://id.example", audience: "client", jwksUrl: "https://id.example/keys" };

function operate(operation: string, appid: string, body?: object, app = test): Promise<Answer> {
  const [method, rest = "settings"] = operation.split(" ");
  return app.call(`${method} /_/api/applications/${appid}/${rest}`, { token, ...(body && { body }) });
}

// spec/operators#application-settings
describe("the settings of an application, managed by operators", () => {
  it("are empty at first; PUT replaces all, PATCH changes some, and null removes one", async () => {
    const { appid } = await test.createApplication();
    const neighbour = await test.createApplication();
    assertResult(await operate("GET", appid), 200, { oidc: {} });
    const all = {
      oidc: { google: provider },
      retention: { metricsDays: 7 },
      quotas: { bytesPerUser: 5 },
      tokenLifetimes: { userMs: 5_000 },
      disabledOperations: ["POST /users"],
      origins: ["https://app.example.com"],
      signedRequests: "optional",
      mail: { from: "App <app@example.com>" },
      debug: true,
    };
    assertResult(await operate("PUT", appid, all), 200, all);
    assertResult(await operate("GET", appid), 200, all);
    assertResult(await operate("PATCH", appid, {}), 200, all);

    const { quotas: _, retention: __, ...rest } = all;
    const change = { quotas: null, RETENTION: null, origins: [], tokenLifetimes: { deviceMs: 9_000 } };
    const changed = { ...rest, origins: [], tokenLifetimes: { deviceMs: 9_000 } };
    assertResult(await operate("PATCH", appid, change), 200, changed);
    assertResult(await operate("GET", appid), 200, changed);
    assertResult(await operate("PUT", appid, { oidc: null, retention: { metricsDays: 8 } }), 200, {
      oidc: {},
      retention: { metricsDays: 8 },
    });
    assertResult(await operate("GET", neighbour.appid), 200, { oidc: {} });
  });

  // spec/operators#versions-of-settings
  it("change only if If-Match names their version: the second of two operators receives the settings of the first", async () => {
    const { appid } = await test.createApplication();
    const change = (method: string, ifMatch: string | undefined, body: object) => {
      const headers = ifMatch === undefined ? {} : { "If-Match": ifMatch };
      return test.call(`${method} /_/api/applications/${appid}/settings`, { token, body, headers });
    };
    const tagOf = ({ headers }: Answer) => String(headers["etag"]);
    const read = tagOf(await operate("GET", appid));
    assert.match(read, /^"[\w-]{22}"$/);
    assert.equal(tagOf(await operate("GET", appid, undefined, other)), read);

    const smtpUrl = "smtp://user:secret@mail.example.org";
    const first = await change("PATCH", read, { mail: { smtpUrl } });
    assert.equal(first.status, 200);
    const stored = { oidc: {}, mail: { smtpUrl: "smtp://user@mail.example.org" } };
    for (const method of ["PATCH", "PUT"]) {
      const second = await change(method, `"x", ${read}`, { debug: true });
      const { current, error, errorNumber } = second.body;
      assert.deepEqual([second.status, error, errorNumber, current], [412, "ObjectChanged", 1287, stored]);
      assert.equal(tagOf(second), tagOf(first));
      assert.ok(!second.text.includes("secret"));
    }
    assertResult(await operate("GET", appid), 200, stored);

    const again = await change("PATCH", `"x", ${tagOf(first)}`, { debug: true });
    assertResult(again, 200, { ...stored, debug: true });
    assert.equal(tagOf(await operate("GET", appid)), tagOf(again));
    const password = await change("PATCH", tagOf(again), { mail: { smtpUrl: smtpUrl.replace("secret", "other") } });
    assert.notEqual(tagOf(password), tagOf(again), "also where only the password differs");
    for (const ifMatch of ["*", undefined]) assert.equal((await change("PUT", ifMatch, {})).status, 200);
    const { appid: untouched } = await test.createApplication();
    assert.equal(tagOf(await operate("GET", untouched)), read, "equal settings have equal tags");
  });

  it("all problems are reported together, and nothing is stored", async () => {
    const { appid } = await test.createApplication();
    await operate("PUT", appid, { retention: { metricsDays: 7 } });
    const wrong = {
      retention: { metricsDays: 0, days: 1 },
      disabledOperations: ["nonsense"],
      origins: ["https://app.example.com/path"],
      mail: { from: "nobody", smtpUrl: "https://user:hidden@host" },
      sgnedRequests: "required",
    };
    const message = [
      'origins must not have "https://app.example.com/path": browsers write https://app.example.com',
      'the body has an unknown member "sgnedRequests"; it can have oidc, retention, quotas, tokenLifetimes, disabledOperations, origins, signedRequests, limits, mail, locationData, debug, email, signIn, passwords, events, rehearsal, webhooks',
      'retention has an unknown member "days"; it can have metricsDays, crashReportsDays',
      "retention.metricsDays must be an integer from 1 to 3650",
      "disabledOperations must be a list of at most 100 texts such as POST /users",
      "mail.from must be an address, or a name and an address in angle brackets",
      "mail.smtpUrl must be an smtp:// or smtps:// URL with a host, and without a path or a query.",
    ].join("; ");
    for (const method of ["PUT", "PATCH"]) {
      assertError(await operate(method, appid, wrong), 400, "ParameterOutOfRange", 514, message);
      const format = "oidc must be an object.";
      assertError(await operate(method, appid, { oidc: [] }), 400, "ParameterIncorrectFormat", 515, format);
      const long = { oidc: { google: { ...provider, audience: "x".repeat(66_000) } } };
      const rule = "the settings must have at most 65536 characters as JSON.";
      assertError(await operate(method, appid, long), 400, "ParameterOutOfRange", 514, rule);
      const own = await test.call(`${method} /_/api/applications/${appid}/settings`, {
        token,
        body: '{"__proto__":{}}',
      });
      assert.match(own.body.message, /unknown member "__proto__"/);
    }
    assertResult(await operate("GET", appid), 200, { oidc: {}, retention: { metricsDays: 7 } });
  });

  it("at most fifty invalid members are reported", async () => {
    const { appid } = await test.createApplication();
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`a${n}`, 0]));
    for (const body of [many, { oidc: many }, { limits: { operations: many } }]) {
      const { status, text, body: answer } = await operate("PUT", appid, body);
      assert.deepEqual([status, answer.error], [400, "ParameterOutOfRange"]);
      assert.match(answer.message, /; and \d{5} more problems\.$/);
      assert.ok(text.length < 15_000, `${text.length} characters`);
    }
    const from = `${"x".repeat(2_000)} <a@b.c>`;
    const rule = "mail.from must have at most 2000 characters.";
    assertError(await operate("PUT", appid, { mail: { from } }), 400, "ParameterOutOfRange", 514, rule);
  });

  it("concurrent changes of different members are all stored", async () => {
    const { appid } = await test.createApplication();
    const changes = [
      { retention: { metricsDays: 7 } },
      { quotas: { bytesPerUser: 5 } },
      { origins: [] },
      { disabledOperations: ["POST /users"] },
      { signedRequests: "optional" },
      { tokenLifetimes: { userMs: 5_000 } },
    ];
    const answers = changes.map((change, n) => operate("PATCH", appid, change, n % 2 === 0 ? test : other));
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
    assertResult(await operate("GET", appid), 200, Object.assign({ oidc: {} }, ...changes));
  });

  it("are effective from the next request on, in every process", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const user = await test.signUp("Jane", application);
    for (const app of [test, other]) {
      const me = () =>
        Promise.all(
          [test, other].map(async (each) => (await each.call("GET /users/me", { token: user.token })).status),
        );
      assert.deepEqual(await me(), [200, 200]);
      await operate("PATCH", appid, { disabledOperations: ["GET /users/me"] }, app);
      assert.deepEqual(await me(), [403, 403]);
      await operate("PATCH", appid, { disabledOperations: null }, app);
    }
  });
});

describe("the shared secret of signed requests, managed by operators", () => {
  function sign(secret: string, signed: string): string {
    return createHmac("sha256", secret).update(signed).digest("hex");
  }

  it("is set or generated, shown only once, effective from the next request in every process, and stored sealed", async () => {
    const application = await test.createApplication();
    const { appid, appkey } = application;
    const user = await test.signUp("Jane", application);
    await operate("PATCH", appid, { signedRequests: "required" });
    const me = async (app: TestApp, secret: string) => {
      const authorization = `Service ${user.token} ${sign(secret, `GET\n${appid}\n/users/me`)}`;
      return (await app.call("GET /users/me", { headers: { authorization } })).status;
    };
    const given = "sixteen letters!";
    assertResult(await operate("PUT signing-secret", appid, { secret: given }), 200, { secret: given });
    assert.deepEqual([await me(test, given), await me(other, given)], [200, 200]);

    const made = await operate("PUT signing-secret", appid, {}, other);
    const { secret } = made.body.result;
    assert.match(secret, /^[\w-]{43}$/);
    assertResult(made, 200, { secret });
    assert.deepEqual([await me(test, given), await me(other, given)], [401, 401]);
    assert.deepEqual([await me(test, secret), await me(other, secret)], [200, 200]);
    const registration = await other.call("POST /devices", { body: { appid, appkey, platform: "x" } });
    assert.equal(registration.body.result.serverSignature, sign(secret, `${appkey}\n`));

    assertResult(await operate("DELETE signing-secret", appid), 200, true);
    assert.deepEqual(
      [await me(test, secret), await me(other, secret)],
      [401, 401],
      "required, so unsigned requests are refused",
    );
    await operate("PATCH", appid, { signedRequests: null });
    assert.deepEqual([await me(test, secret), await me(other, secret)], [200, 200]);
  });

  it("is never shown again by operator routes, the log or the database", async () => {
    const { appid } = await test.createApplication();
    const { secret } = (await operate("PUT signing-secret", appid, {})).body.result;
    const read = [
      await operate("GET", appid),
      await test.call(`GET /_/api/applications/${appid}`, { token }),
      await test.call("GET /_/api/applications?pageSize=1000", { token }),
    ];
    const { reads } = test.app.database;
    const rows = await reads.selectFrom("applications").selectAll().where("application_id", "=", appid).execute();
    assert.ok(rows[0]?.signing_secret);
    assert.ok(!JSON.stringify([read.map((answer) => answer.text), rows, test.logLines]).includes(secret));
  });

  it("is refused if it is too short or too long, and is not echoed", async () => {
    const { appid } = await test.createApplication();
    for (const [secret, rule] of [
      ["fifteen letters", "at least 16"],
      ["x".repeat(257), "at most 256"],
    ] as const) {
      const answer = await operate("PUT signing-secret", appid, { secret });
      assertError(answer, 400, "ParameterOutOfRange", 514, `secret must have ${rule} characters.`);
    }
  });
});

describe("mail settings of an application: spec/operators#secret-settings", () => {
  /** Starts an SMTP server that requires a password, and records its mails. */
  async function startSmtp(t: TestContext) {
    const arrived: { user: unknown; from: string; text: string }[] = [];
    const server = new SMTPServer({
      disabledCommands: ["STARTTLS"],
      authOptional: true,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        password === "s3cret/word" ? done(null, { user: username }) : done(new Error("no")),
      onData: (stream, { user, envelope }, done) =>
        void text(stream).then((bytes) => {
          arrived.push({ user, from: (envelope.mailFrom || { address: "" }).address, text: bytes });
          done();
        }),
    });
    const listener = server.listen(0, "127.0.0.1");
    await once(listener, "listening");
    t.after(() => new Promise<void>((resolve) => server.close(resolve)));
    const { port } = listener.address() as { port: number }; // the server listens on TCP
    return { host: `127.0.0.1:${port}`, arrived };
  }

  async function requestCode(application: { appid: string; appkey: string }): Promise<void> {
    const { token: userToken, userName, deviceToken } = await test.signUp(undefined, application);
    await test.call("PATCH /users/me", { token: userToken, body: { email: "jane@example.com" } });
    const body = { userName, subject: "Your code", body: "It is @ResetCode" };
    assert.equal((await test.call("POST /users/password", { token: deviceToken, body })).status, 200);
  }

  it("mail is sent through the application's server; its password is hidden, and stays when the shown settings are written back", async (t) => {
    const application = await test.createApplication();
    const { appid } = application;
    const { host, arrived } = await startSmtp(t);
    const from = "Größe, Inc. <app@example.com>";
    const shown = { oidc: {}, mail: { from, smtpUrl: `smtp://us%40er@${host}` } };
    const put = { mail: { from, smtpUrl: `smtp://us%40er:s3cret%2Fword@${host}` } };
    assertResult(await operate("PUT", appid, put), 200, shown);
    assertResult(await operate("GET", appid), 200, shown);
    assertResult(await operate("PUT", appid, shown), 200, shown);
    assertResult(await operate("PATCH", appid, { retention: { metricsDays: 9 }, mail: shown.mail }), 200, {
      ...shown,
      retention: { metricsDays: 9 },
    });
    await requestCode(application);
    await until(() => arrived.length > 0);
    assert.equal(arrived.length, 1);
    assert.deepEqual([arrived[0]?.user, arrived[0]?.from], ["us@er", "app@example.com"]);
    assert.match(arrived[0]?.text ?? "", /^From: =\?UTF-8\?.*<app@example\.com>\r?$/m);
    assert.ok(!JSON.stringify(test.logLines).includes("s3cret"));
  });

  it("the password of a server is never sent to another server or for another user", async (t) => {
    const application = await test.createApplication();
    const { appid } = application;
    const { host, arrived } = await startSmtp(t);
    await operate("PUT", appid, { mail: { smtpUrl: "smtp://user:s3cret%2Fword@127.0.0.1:9" } });
    for (const smtpUrl of [`smtp://user@${host}`, "smtp://other@127.0.0.1:9", "smtps://user@127.0.0.1:9"]) {
      await operate("PATCH", appid, { mail: { smtpUrl } });
      const { reads } = test.app.database;
      const row = await reads
        .selectFrom("applications")
        .select("settings")
        .where("application_id", "=", appid)
        .executeTakeFirst();
      assert.ok(!row?.settings.includes("s3cret"), smtpUrl);
    }
    assert.deepEqual(arrived, []);
  });

  it("a URL with more than a server is refused, and not echoed", async () => {
    const { appid } = test.application;
    const wrong = [
      "",
      "x",
      "http://h",
      "smtp://",
      "smtp://h/path",
      "smtp://h?logger=true",
      "smtps://u:p@h#x",
      "file:///x",
    ];
    const urls = [...wrong, "smtp://h\r\nX: y", 5, null, ["smtp://h"], `smtp://${"h".repeat(3_000)}`];
    for (const smtpUrl of urls) {
      const answer = await operate("PATCH", appid, { mail: { smtpUrl } });
      const rule = "mail.smtpUrl must be an smtp:// or smtps:// URL with a host, and without a path or a query.";
      assertError(answer, 400, "ParameterOutOfRange", 514, rule);
    }
  });
});

describe("secrets in settings are sealed at rest", () => {
  const smtpUrl = "smtp://user:s3cret%2Fword@mail.example";
  const shown = { oidc: {}, mail: { smtpUrl: "smtp://user@mail.example" } };

  function findRow(appid: string) {
    const applications = test.app.database.reads.selectFrom("applications").selectAll();
    return applications.where("application_id", "=", appid).executeTakeFirstOrThrow();
  }

  async function open(appid: string, app = test) {
    return app.app.settingsSealer.open(appid, await loadGuardedSettings(appid, app.app.database.reads));
  }

  function store(appid: string, settings: ApplicationSettings, sealed: string | null = null) {
    return test.app.database.write(({ queries }) => updateApplicationSettings(appid, settings, queries, { sealed }));
  }

  function startUnder(secrets: string): Promise<TestApp> {
    return startTestApp({ DATABASE_URL: test.config.databaseUrl, ROLLCALL_SECRET: secrets });
  }

  it("the row never contains the password, and another application cannot use the sealed value", async () => {
    const [{ appid }, neighbour] = [await test.createApplication(), await test.createApplication()];
    assertResult(await operate("PUT", appid, { mail: { smtpUrl } }), 200, shown);
    assertResult(await operate("PATCH", appid, { debug: true }), 200, { ...shown, debug: true });
    assertResult(await operate("PATCH", appid, { debug: null, mail: shown.mail }), 200, shown);
    const row = await findRow(appid);
    assert.ok(!JSON.stringify(row).includes("s3cret"), JSON.stringify(row));
    assert.equal((await open(appid)).settings.mail?.smtpUrl, smtpUrl);

    await store(neighbour.appid, parseApplicationSettings(row.settings), row.sealed_settings);
    assert.equal((await open(neighbour.appid)).isLocked, true);
    await operate("PATCH", appid, { mail: null });
    assert.equal((await findRow(appid)).sealed_settings, null);
  });

  it("a value that an earlier release stored in plain text is readable, and maintenance seals it", async () => {
    const { appid } = await test.createApplication();
    await operate("PUT", appid, { mail: { smtpUrl: "smtp://before:other@mail.example" } });
    const before = await findRow(appid);
    await store(appid, { oidc: {}, mail: { smtpUrl } }, before.sealed_settings);
    assertResult(await operate("GET", appid), 200, shown);
    await maintain(test.app);
    assert.ok(!JSON.stringify(await findRow(appid)).includes("s3cret"));
    assert.deepEqual(await open(appid), {
      settings: { oidc: {}, mail: { smtpUrl } },
      isLocked: false,
      isOutdated: false,
    });
  });

  it("a concurrent change of the settings is not lost", async () => {
    const { appid } = await test.createApplication();
    await store(appid, { oidc: {}, mail: { smtpUrl } });
    const found = await loadGuardedSettings(appid, test.app.database.reads);
    await store(appid, { oidc: {}, mail: { smtpUrl: "smtp://new:word@mail.example" }, debug: true });
    await sealOutdatedSettings(appid, found, { database: test.app.database, sealer: test.app.settingsSealer });
    const { settings, isOutdated } = await open(appid);
    assert.deepEqual(
      [settings, isOutdated],
      [{ oidc: {}, mail: { smtpUrl: "smtp://new:word@mail.example" }, debug: true }, false],
    );
  });

  it("an earlier release can parse the row, and does not lose the server when it writes the row back", async () => {
    const { appid } = await test.createApplication();
    await operate("PUT", appid, { mail: { smtpUrl } });
    const { settings, sealed_settings } = await findRow(appid);
    const earlier = parseApplicationSettings(settings); // earlier releases use the same parser
    assert.equal(earlier.mail?.smtpUrl, "smtp://sealed.invalid");
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("applications")
        .set({ settings: JSON.stringify({ ...earlier, debug: true }) })
        .where("application_id", "=", appid)
        .execute(),
    );
    assert.equal((await findRow(appid)).sealed_settings, sealed_settings);
    assertResult(await operate("GET", appid), 200, { ...shown, debug: true });
    assertResult(await operate("PUT", appid, earlier), 200, shown);
    assert.equal((await open(appid)).settings.mail?.smtpUrl, smtpUrl);
  });

  it("maintenance reseals all secrets of an application with the newest secret", async () => {
    const { appid } = await test.createApplication();
    await operate("PUT", appid, { mail: { smtpUrl } });
    await operate("PUT signing-secret", appid, { secret: "a shared secret of requests" });
    const [oldSecret, newSecret] = [test.config.secrets?.[0] ?? "", "a newer secret for tests that is long enough"];
    const rotated = await startUnder(`${newSecret},${oldSecret}`);
    await maintain(rotated.app);
    await rotated.close();
    const after = await startUnder(newSecret);
    try {
      assert.equal((await open(appid, after)).settings.mail?.smtpUrl, smtpUrl);
      const sealed = (await findRow(appid)).signing_secret ?? "";
      assert.equal(openSigningSecret(appid, sealed, [newSecret]), "a shared secret of requests");
      assert.equal((await open(appid)).isLocked, true, "a process without the newest secret cannot unseal it");
      await maintain(test.app);
      assert.equal((await open(appid, after)).isLocked, false, "other secrets do no harm");
    } finally {
      await after.close();
    }
  });

  it("settings can be read, changed and replaced without the secret", async () => {
    const { appid } = await test.createApplication();
    await operate("PUT", appid, { mail: { from: "a@b.example", smtpUrl } });
    const without = await startUnder("quite another secret for tests");
    try {
      const operator = await without.createOperator("an operator without the secret");
      const path = `/_/api/applications/${appid}/settings`;
      const call = (method: string, body?: object) =>
        without.call(`${method} ${path}`, { token: operator.token, ...(body && { body }) });
      const locked = { oidc: {}, mail: { from: "a@b.example", smtpUrl: "smtp://sealed.invalid" } };
      assertResult(await call("GET"), 200, locked);
      assertResult(await call("PATCH", { debug: true }), 200, { ...locked, debug: true });
      assertResult(await call("PUT", locked), 200, locked);
      assert.equal((await open(appid)).settings.mail?.smtpUrl, smtpUrl, "the value stays for the secret it belongs to");
      await maintain(without.app);
      assertResult(await call("PUT", { mail: { smtpUrl } }), 200, shown);
      assert.equal((await open(appid, without)).settings.mail?.smtpUrl, smtpUrl);
      for (const sealed of ["", "no JSON", "null", "[]", '{"mail.smtpUrl":5}', '{"mail.smtpUrl":"x"}']) {
        await store(appid, locked, sealed);
        assertResult(await call("GET"), 200, locked);
      }
    } finally {
      await without.close();
    }
  });
});
