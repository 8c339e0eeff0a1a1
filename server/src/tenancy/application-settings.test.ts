import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { updateApplicationDeleted } from "../applications/applications.store.ts";
import {
  ApplicationSettingsError,
  loadApplicationSettings,
  loadOidcProvider,
  parseApplicationSettings,
  retentionOf,
  updateApplicationSettings,
} from "./application-settings.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const provider = { issuer: "https://id.example", audience: "client", jwksUrl: "https://id.example/keys" };

function problemsOf(settings: unknown): readonly string[] {
  try {
    parseApplicationSettings(typeof settings === "string" ? settings : JSON.stringify(settings));
    return [];
  } catch (error) {
    assert.ok(error instanceof ApplicationSettingsError);
    return error.problems;
  }
}

describe("parseApplicationSettings: spec/operators#application-settings", () => {
  it("reads providers, and an empty string as none", () => {
    const settings = { oidc: { google: provider, "my own": { ...provider, audience: "other" } } };
    assert.deepEqual(parseApplicationSettings(JSON.stringify(settings)), settings);
    for (const none of ["{}", '{"oidc":{}}', ' {\n"oidc": {} }\n']) {
      assert.deepEqual(parseApplicationSettings(none), { oidc: {} });
    }
  });

  it("accepts any provider name, including names that are special in JavaScript (hostile.md 15)", () => {
    for (const name of ["__proto__", "constructor", "toString", "Größe 👋", "x".repeat(256)]) {
      const text = `{"oidc":{${JSON.stringify(name)}:${JSON.stringify(provider)}}}`;
      const { oidc } = parseApplicationSettings(text);
      assert.deepEqual(Object.keys(oidc), [name]);
      assert.deepEqual(Object.getOwnPropertyDescriptor(oidc, name)?.value, provider);
      assert.equal(Object.getPrototypeOf(oidc), Object.prototype);
    }
  });

  it("reads the given retention days; the others have the defaults", () => {
    for (const retention of [
      {},
      { metricsDays: 1 },
      { crashReportsDays: 3_650 },
      { metricsDays: 7, crashReportsDays: 8 },
    ]) {
      const settings = parseApplicationSettings(JSON.stringify({ retention }));
      assert.deepEqual(settings, { oidc: {}, retention });
      assert.deepEqual(retentionOf(settings), { metricsDays: 90, crashReportsDays: 90, ...retention });
    }
    assert.deepEqual(retentionOf(parseApplicationSettings("{}")), { metricsDays: 90, crashReportsDays: 90 });
  });

  it("accepts debug: true or false", () => {
    assert.deepEqual(parseApplicationSettings('{"debug":true}'), { oidc: {}, debug: true });
    for (const debug of ["true", 1, null, {}]) assert.deepEqual(problemsOf({ debug }), ["debug must be true or false"]);
  });

  it("accepts any of the four quotas, from 0 up", () => {
    const quotas = { bytesPerApplication: 0, filesPerApplication: 1, bytesPerUser: 2 ** 40, filesPerUser: 3 };
    assert.deepEqual(parseApplicationSettings(JSON.stringify({ quotas })), { oidc: {}, quotas });
    for (const bytesPerUser of [-1, 1.5, "1", null, 2 ** 53]) {
      assert.deepEqual(problemsOf({ quotas: { bytesPerUser } }), [
        "quotas.bytesPerUser must be an integer from 0 to 9007199254740991",
      ]);
    }
  });

  it("accepts limits of the application, of each caller and of operations; reports all errors together", () => {
    const limits = {
      application: { perSecond: 1_000_000 },
      caller: { perSecond: 0.001, burst: 1 },
      operations: { "POST /users": { perSecond: 2.5, burst: 1_000_000 } },
    };
    assert.deepEqual(parseApplicationSettings(JSON.stringify({ limits })), { oidc: {}, limits });
    assert.deepEqual(parseApplicationSettings('{"limits":{}}'), { oidc: {}, limits: {} });
    for (const perSecond of [0, -1, 0.0001, 1_000_001, "1", null, undefined]) {
      assert.deepEqual(problemsOf({ limits: { caller: { perSecond } } }), [
        "limits.caller.perSecond must be a number from 0.001 to 1000000",
      ]);
    }
    const wrong = {
      application: [],
      caller: { perSecond: 1, burst: 1.5 },
      operations: { users: { perSecond: 1, per: 1 } },
    };
    assert.deepEqual(problemsOf({ limits: wrong }), [
      "limits.application must be an object",
      "limits.caller.burst must be an integer from 1 to 1000000",
      'the name "users" in limits.operations must be such as POST /users',
      'limits.operations.users has an unknown member "per"; it can have perSecond, burst',
    ]);
    assert.deepEqual(problemsOf('{"limits":{"operations":{"__proto__":{"perSecond":1}}}}'), [
      'the name "__proto__" in limits.operations must be such as POST /users',
    ]);
    assert.deepEqual(problemsOf({ limits: { user: {} } }), [
      'limits has an unknown member "user"; it can have application, caller, streams, operations',
    ]);
  });

  it("refuses days that are not an integer from 1 to 3650, and unknown members, and reports all of them together", () => {
    for (const days of [0, -1, 1.5, 3_651, 1e300, "90", null, true, [], {}]) {
      assert.deepEqual(
        problemsOf({ retention: { metricsDays: days, crashReportsDays: days } }),
        ["metricsDays", "crashReportsDays"].map((name) => `retention.${name} must be an integer from 1 to 3650`),
      );
    }
    for (const value of [null, [], 90, "90"]) {
      assert.deepEqual(problemsOf({ retention: value }), ["retention must be an object"]);
    }
    const known = "it can have metricsDays, crashReportsDays";
    assert.deepEqual(problemsOf({ retention: { days: 1 } }), [`retention has an unknown member "days"; ${known}`]);
    assert.deepEqual(problemsOf('{"retention":{"__proto__":1}}'), [
      `retention has an unknown member "__proto__"; ${known}`,
    ]);
  });

  it("refuses anything but a JSON object", () => {
    for (const text of ["", "{", "{oidc:{}}", '{"oidc":{},}']) {
      assert.match(problemsOf(text).join("\n"), /^the file must be JSON: [^\n]+$/);
    }
    for (const value of [null, [], 1, "text", true]) {
      assert.deepEqual(problemsOf(JSON.stringify(value)), ["the file must be an object"]);
      assert.deepEqual(problemsOf({ oidc: value }), ["oidc must be an object"]);
      assert.deepEqual(problemsOf({ oidc: { google: value } }), ["oidc.google must be an object"]);
    }
  });

  it("refuses unknown members at every level", () => {
    assert.deepEqual(problemsOf({ OIDC: {} }), [
      'the file has an unknown member "OIDC"; it can have oidc, retention, quotas, tokenLifetimes, disabledOperations, origins, signedRequests, limits, mail, locationData, debug, email, signIn, passwords, events, rehearsal, webhooks',
    ]);
    assert.deepEqual(problemsOf({ oidc: { google: { ...provider, jwksURL: "x" } } }), [
      'oidc.google has an unknown member "jwksURL"; it can have issuer, audience, jwksUrl',
    ]);
  });

  it("names each string that is missing, empty or not a string, all of them together", () => {
    for (const wrong of [undefined, null, "", "  ", 1, true, {}, ["x"], "a\0b", "\uD800"]) {
      const every = { issuer: wrong, audience: wrong, jwksUrl: wrong };
      assert.deepEqual(
        problemsOf({ oidc: { google: every } }),
        ["issuer", "audience", "jwksUrl"].map((member) => `oidc.google.${member} must be a text that is not empty`),
      );
    }
  });

  it("refuses key URLs that others could answer", () => {
    const rule = "oidc.google.jwksUrl must be an https:// URL without a password (http:// on this machine only)";
    const problems = (jwksUrl: string) => problemsOf({ oidc: { google: { ...provider, jwksUrl } } });
    for (const right of ["https://a.example/k", "http://localhost:1/k", "http://127.0.0.1/k", "http://[::1]:8080/k"]) {
      assert.deepEqual(problems(right), [], right);
    }
    for (const wrong of [
      "http://a.example/k",
      "http://127.0.0.1.example/k",
      "http://localhost.example/k",
      "http://10.0.0.1/k",
      "ftp://a.example/k",
      "file:///etc/keys",
      "a.example/k",
      "https://",
      "https://user:password@a.example/k",
    ]) {
      assert.deepEqual(problems(wrong), [rule], wrong);
    }
  });

  it("refuses a name that cannot be an identityProviderName", () => {
    for (const name of ["", " ", "x".repeat(257), "a\0b"]) {
      assert.deepEqual(problemsOf({ oidc: { [name]: provider } }), [
        `the name ${JSON.stringify(name)} in oidc must have 1 to 256 characters`,
      ]);
    }
  });
});

describe("the settings of an application", () => {
  const settings = {
    oidc: Object.fromEntries([
      ["google", provider],
      ["__proto__", provider],
    ]),
  };

  function update(applicationId: string): Promise<boolean> {
    return test.app.database.write(({ queries }) => updateApplicationSettings(applicationId, settings, queries));
  }

  it("are empty at first, and then as stored, for that application only", async () => {
    const { reads } = test.app.database;
    const [one, other] = [await test.createApplication(), await test.createApplication()];
    assert.deepEqual(await loadApplicationSettings(one.appid, reads), { oidc: {} });
    assert.equal(await update(one.appid), true);
    assert.deepEqual(await loadApplicationSettings(one.appid, reads), settings);
    assert.deepEqual(await loadApplicationSettings(other.appid, reads), { oidc: {} });
  });

  it("return a provider only under its exact name", async () => {
    const { reads } = test.app.database;
    const { appid } = await test.createApplication();
    await update(appid);
    for (const name of ["google", "__proto__"]) {
      assert.deepEqual(await loadOidcProvider(appid, name, reads), { ...provider, isPublicOnly: false });
    }
    for (const name of ["Google", "", "constructor", "toString"]) {
      assert.equal(await loadOidcProvider(appid, name, reads), undefined);
    }
  });

  it("cannot be stored for a missing application, or one that is being deleted", async () => {
    const { appid } = await test.createApplication();
    await test.app.database.write(({ queries }) => updateApplicationDeleted(appid, test.now(), queries));
    assert.equal(await update(appid), false);
    assert.equal(await update(test.app.ids.newId("App")), false);
  });
});
