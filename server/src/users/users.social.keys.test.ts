// Runs on one engine: it tests calls to servers of keys.
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { startTestIssuer, type TestIssuer } from "../../test/oidc-issuer.ts";
import { updateApplicationSettings } from "../tenancy/application-settings.ts";
import type { OidcProvider } from "../tenancy/identity-provider.ts";

const publicAddress = "93.184.215.14";

let test: TestApp;
let issuer: TestIssuer;
/** The addresses that host names resolve to. */
let addresses: readonly string[];
let lookedUp: string[];
before(async () => {
  const lookUp = async (name: string) => {
    lookedUp.push(name);
    return addresses;
  };
  // 127.0.0.2 is an allowed internal address, 127.0.0.1 a forbidden one.
  test = await startTestApp({ OUTGOING_NETWORKS: "127.0.0.2/32" }, { lookUp });
  issuer = await startTestIssuer(() => test.now());
});
after(async () => {
  await issuer.close();
  await test.close();
});
beforeEach(() => {
  addresses = [publicAddress];
  lookedUp = [];
});

/** Returns the issuer under a host name, which resolves to `addresses`. */
function named(path = "keys"): OidcProvider {
  const { port } = new URL(issuer.provider.jwksUrl);
  return { ...issuer.provider, jwksUrl: `http://localhost:${port}/${path}` };
}

/**
 * Registers a device of a new application whose provider was set by an operator of that role, or on the command line.
 */
async function withProvider(provider: OidcProvider, role: "editor" | "owner" | "shell" = "shell") {
  const { appid, ...application } = await test.createApplication();
  const settings = { oidc: { google: provider } };
  if (role === "shell") {
    await test.app.database.write(({ queries }) => updateApplicationSettings(appid, settings, queries));
  } else {
    const { token } = await test.createOperator(undefined, role);
    const answer = await test.call(`PUT /_/api/applications/${appid}/settings`, { token, body: settings });
    assertResult(answer, 200, settings);
  }
  return { appid, device: await test.registerDevice({ appid, ...application }) };
}

async function logIn(device: string): Promise<Answer> {
  const identityAccessToken = await issuer.sign({ sub: "jane" });
  const body = { identityProviderName: "google", identityID: "jane", identityAccessToken };
  return test.call("POST /users/login/social", { token: device, body });
}

function assertOutOfReach(answer: Answer): void {
  const message = "The keys of the identity provider cannot be reached. Try again.";
  assertError(answer, 503, "ServiceUnavailable", 1284, message);
}

/** Returns the logged reason of the last login. */
function loggedReason(): unknown {
  return test.logLines.findLast(({ reason }) => reason !== undefined)?.["reason"];
}

// spec/users#provider-keys
describe("POST /users/login/social when the key server is hostile (hostile.md 44)", () => {
  const keys = () => JSON.stringify({ keys: [issuer.publicJwk] });

  async function reasonFor(answer: (response: ServerResponse) => void): Promise<unknown> {
    issuer.answerWith(answer);
    assertOutOfReach(await logIn((await withProvider({ ...named(), jwksUrl: issuer.provider.jwksUrl })).device));
    return loggedReason();
  }

  it("reads at most 262144 bytes of an endless answer", async () => {
    const chunk = Buffer.alloc(65_536, " ");
    let sent = 0;
    const reason = await reasonFor((response) => {
      const send = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        response.once("drain", send);
      };
      send();
    });
    assert.equal(reason, "answered more than 262144 bytes");
    await setTimeout(100);
    const sentBefore = sent;
    await setTimeout(100);
    assert.equal(sent, sentBefore, "the connection is closed");
  });

  it("refuses a declared length that is too large without reading", async () => {
    const reason = await reasonFor((response) => response.writeHead(200, { "content-length": 262_145 }).flushHeaders());
    assert.equal(reason, "answered more than 262144 bytes");
  });

  it("aborts an answer that arrives byte by byte after five seconds", async () => {
    const startedAt = performance.now();
    const reason = await reasonFor(async (response) => {
      while (!response.destroyed) {
        response.write(" ");
        await setTimeout(50);
      }
    });
    assert.equal(reason, "no whole answer within 5000 ms");
    assert.ok(performance.now() - startedAt < 30_000); // a busy machine may abort late, but the answer is endless
  });

  it("does not follow a redirect", async () => {
    const before = issuer.fetches;
    const reason = await reasonFor((response) => response.writeHead(302, { location: "/elsewhere" }).end());
    assert.equal(reason, "answered 302");
    assert.equal(issuer.fetches, before + 1);
  });

  it("refuses a header of more than 16384 bytes", async () => {
    const reason = await reasonFor((response) => response.writeHead(200, { "x-large": "x".repeat(20_000) }).end());
    assert.match(String(reason), /^HPE_HEADER_OVERFLOW/);
  });

  it("refuses compressed bytes without decompressing them, because the request accepts none", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    assert.ok(bomb.length < 262_144);
    const reason = await reasonFor((response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
    assert.equal(reason, "answered in the encoding gzip, which was not asked for");
  });

  it("refuses a content type other than JSON or plain text", async () => {
    for (const type of ["text/html; charset=utf-8", "image/png", "application/octet-stream", "nonsense"]) {
      const reason = await reasonFor((response) => response.writeHead(200, { "content-type": type }).end(keys()));
      assert.equal(reason, `answered with the content type ${type.split(";")[0]}`);
    }
  });

  it("accepts JSON, plain text and a missing content type", async () => {
    const types = ["application/json", "Application/JSON;charset=UTF-8", "application/jwk-set+json", "text/plain", ""];
    for (const type of types) {
      const headers = type === "" ? {} : { "content-type": type };
      issuer.answerWith((response) => response.writeHead(200, headers).end(keys()));
      assert.equal((await logIn((await withProvider(named(type))).device)).status, 200, type);
    }
  });
});

// spec/operators#outgoing-urls
describe("an editor's jwksUrl (hostile.md 44)", () => {
  before(() => issuer.answerWith((response) => response.end(JSON.stringify({ keys: [issuer.publicJwk] }))));

  it("is refused with the rule when it leads to an internal address, and nothing is stored", async () => {
    const { token } = await test.createOperator("editor of urls", "editor");
    const { appid } = await test.createApplication();
    const refuse = async (settings: object, message: string) => {
      for (const method of ["PUT", "PATCH"]) {
        const answer = await test.call(`${method} /_/api/applications/${appid}/settings`, { token, body: settings });
        assertError(answer, 400, "ParameterOutOfRange", 514, `${message}.`);
      }
    };
    const rule = "must lead to public addresses only; an owner can set any other";
    for (const host of ["127.0.0.1", "127.1", "0x7f000001", "[::1]"]
      .map((each) => `http://${each}`)
      .concat(["https://10.0.0.1", "https://[::ffff:10.0.0.1]", "https://169.254.169.254"])) {
      const oidc = { google: { ...issuer.provider, jwksUrl: `${host}/keys` } };
      if (!/^http:\/\/(?:127\.1|0x7f)/.test(host)) await refuse({ oidc }, `oidc.google.jwksUrl ${rule}`);
    }
    addresses = ["127.0.0.1"];
    await refuse({ oidc: { a: named() } }, `oidc.a.jwksUrl ${rule}`);
    await refuse({ mail: { smtpUrl: "smtp://mail.example" } }, `mail.smtpUrl ${rule}`);
    addresses = [publicAddress, "10.0.0.1"];
    await refuse({ oidc: { a: named() } }, `oidc.a.jwksUrl ${rule}`);
    addresses = [];
    await refuse(
      { oidc: { a: named(), b: named() }, mail: { smtpUrl: "smtp://mail.example" } },
      `oidc.a.jwksUrl ${rule}; oidc.b.jwksUrl ${rule}; mail.smtpUrl ${rule}`,
    );
    assertResult(await test.call(`GET /_/api/applications/${appid}/settings`, { token }), 200, { oidc: {} });
  });

  it("is not called when it resolves to an internal address later (rebinding)", async () => {
    const { device } = await withProvider(named("rebinding"), "editor");
    const before = issuer.fetches;
    addresses = ["127.0.0.1"];
    assertOutOfReach(await logIn(device));
    assert.equal(issuer.fetches, before);
    assert.equal(loggedReason(), "localhost leads to 127.0.0.1, which is not a public address");
  });

  it("may lead to addresses in OUTGOING_NETWORKS, and its name is resolved once per call", async () => {
    addresses = ["127.0.0.2"];
    const { device } = await withProvider(named("open"), "editor");
    lookedUp = [];
    // The issuer listens on 127.0.0.1, so a failure here shows that the call went to the allowed address.
    assertOutOfReach(await logIn(device));
    assert.match(String(loggedReason()), /^ECONNREFUSED: .*127\.0\.0\.2/);
    assert.deepEqual(lookedUp, ["localhost"]);
  });

  it("may lead anywhere if an owner set it, and the server does not resolve its name itself", async () => {
    const { device } = await withProvider(issuer.provider, "owner");
    assert.equal((await logIn(device)).status, 200);
    assert.deepEqual(lookedUp, []);
  });

  it("remains the editor's when an owner writes it back unchanged, and becomes the owner's when changed", async () => {
    const { appid, device } = await withProvider(named("written-back"), "editor");
    const { token } = await test.createOperator(undefined, "owner");
    const put = async (body: object) =>
      assertResult(await test.call(`PUT /_/api/applications/${appid}/settings`, { token, body }), 200, body);
    addresses = ["127.0.0.1"];
    await put({ oidc: { google: named("written-back") }, retention: { metricsDays: 7 } });
    assertOutOfReach(await logIn(device));
    await put({ oidc: { google: issuer.provider } });
    assert.equal((await logIn(device)).status, 200);
  });

  it("remains the owner's when the editor changes another setting", async () => {
    const { appid, device } = await withProvider(issuer.provider, "owner");
    const { token } = await test.createOperator(undefined, "editor");
    const body = { oidc: { google: issuer.provider }, retention: { metricsDays: 7 } };
    assertResult(await test.call(`PUT /_/api/applications/${appid}/settings`, { token, body }), 200, body);
    assert.equal((await logIn(device)).status, 200);
    const moved = { oidc: { other: issuer.provider } };
    const answer = await test.call(`PATCH /_/api/applications/${appid}/settings`, { token, body: moved });
    assert.equal(answer.body.error, "ParameterOutOfRange");
  });

  it("does not use the keys that were fetched for an equal URL of an owner in another application", async () => {
    addresses = ["127.0.0.1"];
    const owned = await withProvider(named("shared"), "owner");
    assert.equal((await logIn(owned.device)).status, 200);
    addresses = [publicAddress];
    const { device } = await withProvider(named("shared"), "editor");
    addresses = ["127.0.0.1"];
    assertOutOfReach(await logIn(device));
  });
});
