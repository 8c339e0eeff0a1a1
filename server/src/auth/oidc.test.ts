// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, beforeEach, describe, it, type TestContext } from "node:test";
import { exportSPKI, importJWK } from "jose";
import { joinToken, startTestIssuer, type TestIssuer } from "../../test/oidc-issuer.ts";
import { createLog } from "../config/log.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { ApiError } from "../lib/errors.ts";
import type { OidcProvider } from "../tenancy/identity-provider.ts";
import { createIdTokens, type IdTokenCheck, type IdTokens } from "./oidc.ts";

const start = 1_800_000_000_000;
let now: number;
let issuer: TestIssuer;
let idTokens: IdTokens;
let logText: string[] = [];
before(async () => {
  issuer = await startTestIssuer(() => now);
});
after(() => issuer.close());
beforeEach(() => {
  now = start;
  idTokens = newIdTokens();
});

/** An instance with an empty cache. */
function newIdTokens(): IdTokens {
  logText = [];
  const log = createLog("trace", { write: (line) => void logText.push(line) });
  const outgoing = createOutgoing({ outgoingNetworks: [] }, { lookUp: async () => [] });
  return createIdTokens({ outgoing, clock: { now: () => now }, log });
}

async function verify(token: string, subject = "jane", provider: OidcProvider = issuer.provider) {
  const result = await idTokens.verify(token, subject, { ...provider, isPublicOnly: false });
  return "claims" in result ? result.claims : undefined;
}

async function assertRefused(token: string, failedCheck: IdTokenCheck, subject = "jane"): Promise<void> {
  logText = [];
  assert.deepEqual(await idTokens.verify(token, subject, { ...issuer.provider, isPublicOnly: false }), { failedCheck });
  assert.deepEqual(logText, []); // the caller of `verify` logs the failure, because it knows the application
}

function assertUnavailable(verifying: Promise<unknown>): Promise<void> {
  return assert.rejects(verifying, (error) => error instanceof ApiError && error.condition === "ServiceUnavailable");
}

async function startIssuer(t: TestContext, algorithm?: string): Promise<TestIssuer> {
  const started = await startTestIssuer(() => now, algorithm);
  t.after(() => started.close().catch(() => {})); // some tests close it themselves
  return started;
}

describe("an id_token: spec/users#token-verification, OpenID Connect Core 3.1.3.7", () => {
  it("yields its claims if it is valid", async () => {
    const claims = await verify(await issuer.sign({ sub: "jane", email: "jane@example.com" }));
    assert.equal(claims?.sub, "jane");
    assert.equal(claims?.["email"], "jane@example.com");
    assert.deepEqual(logText, []);
  });

  it("is accepted with any signature algorithm that only the provider can use", async (t) => {
    for (const algorithm of ["PS256", "ES256", "ES384", "ES512", "EdDSA", "RS512"]) {
      const other = await startIssuer(t, algorithm);
      assert.ok(await verify(await other.sign({ sub: "jane" }), "jane", other.provider), algorithm);
    }
  });

  it("is refused for another subject, from another issuer, or for another audience", async () => {
    await assertRefused(await issuer.sign({ sub: "joe" }), "sub");
    await assertRefused(await issuer.sign({ sub: "jane" }), "sub", "Jane");
    await assertRefused(await issuer.sign({ sub: "jane", iss: "https://evil.example" }), "iss");
    await assertRefused(await issuer.sign({ sub: "jane", iss: `${issuer.provider.issuer}/` }), "iss");
    await assertRefused(await issuer.sign({ sub: "jane", aud: "another client" }), "aud");
    await assertRefused(await issuer.sign({ sub: "jane", aud: [] }), "aud");
  });

  it("is refused without subject, issuer, audience or expiry", async () => {
    for (const claim of ["sub", "iss", "aud", "exp"] as const) {
      const token = await issuer.sign({ sub: "jane", [claim]: undefined });
      await assertRefused(token, claim);
    }
  });

  it("must name this application as the authorized party if it is for several audiences", async () => {
    const aud = ["another client", issuer.provider.audience];
    await assertRefused(await issuer.sign({ sub: "jane", aud }), "azp");
    await assertRefused(await issuer.sign({ sub: "jane", aud, azp: "another client" }), "azp");
    assert.ok(await verify(await issuer.sign({ sub: "jane", aud, azp: issuer.provider.audience })));
    assert.ok(await verify(await issuer.sign({ sub: "jane", aud: [issuer.provider.audience] })));
  });

  it("is valid between its times, with a tolerance of one minute for clock differences", async () => {
    const seconds = start / 1_000;
    const expiring = await issuer.sign({ sub: "jane", exp: seconds });
    const early = await issuer.sign({ sub: "jane", nbf: seconds + 120 });
    const issuedLater = await issuer.sign({ sub: "jane", iat: seconds + 120 });
    now = start + 59_000;
    assert.ok(await verify(expiring));
    await assertRefused(early, "nbf");
    await assertRefused(issuedLater, "iat");
    now = start + 60_000;
    await assertRefused(expiring, "exp");
    assert.ok(await verify(early));
    assert.ok(await verify(issuedLater));
  });

  it("cannot be replaced by another token of the provider: an access token, a logout token", async () => {
    for (const typ of ["at+jwt", "application/AT+JWT", "logout+jwt"]) {
      await assertRefused(await issuer.sign({ sub: "jane" }, { typ }), "typ");
    }
    assert.ok(await verify(await issuer.sign({ sub: "jane" }, { typ: undefined })));
  });

  it("is refused with a signature that any client can make: none, or a public secret", async () => {
    const payload = {
      iss: issuer.provider.issuer,
      aud: issuer.provider.audience,
      sub: "jane",
      exp: start / 1_000 + 3_600,
    };
    const { kid } = issuer.publicJwk;
    for (const alg of ["none", "None", ""]) {
      assert.equal(await verify(joinToken({ alg, kid }, payload)), undefined, alg);
      assert.equal(await verify(joinToken({ alg, kid }, payload, "AAAA")), undefined, alg);
    }
    const publicKey = await importJWK(issuer.publicJwk, "RS256", { extractable: true });
    assert.ok(publicKey instanceof CryptoKey);
    for (const secret of [
      await exportSPKI(publicKey),
      JSON.stringify(issuer.publicJwk),
      issuer.publicJwk.n ?? "",
      "",
    ]) {
      const unsigned = joinToken({ alg: "HS256", kid, typ: "JWT" }, payload).slice(0, -1);
      const signature = createHmac("sha256", secret).update(unsigned).digest("base64url");
      await assertRefused(`${unsigned}.${signature}`, "algorithm");
    }
  });

  it("is refused with a signature by a foreign key, or by a key in the token itself", async (t) => {
    const evil = await startIssuer(t);
    const claims = { sub: "jane", iss: issuer.provider.issuer };
    const { publicJwk, provider } = evil;
    for (const header of [{}, { jwk: publicJwk }, { jku: provider.jwksUrl }, { kid: issuer.publicJwk.kid }]) {
      assert.equal(await verify(await evil.sign(claims, header)), undefined);
    }
    assert.equal(evil.fetches, 0);
  });

  it("is refused when it was altered in any part or is malformed", async () => {
    const token = await issuer.sign({ sub: "jane" });
    const [head = "", payload = "", signature = ""] = token.split(".");
    const forged = Buffer.from(payload, "base64url").toString().replace('"jane"', '"joe"');
    const forgedPayload = Buffer.from(forged).toString("base64url");
    await assertRefused(`${head}.${forgedPayload}.${signature}`, "signature", "joe");
    await assertRefused("garbage", "format");
    const middle = Math.floor(signature.length / 2);
    const other = signature[middle] === "A" ? "B" : "A";
    for (const altered of [
      `${head}.${payload}.${signature.slice(0, middle)}${other}${signature.slice(middle + 1)}`,
      `${head}.${payload}.${signature.slice(0, -4)}`,
      `${head}.${payload}.`,
      `${head}.${payload}`,
      `${token}.${signature}`,
      ` ${token}`,
      "garbage",
      "a.b.c",
      "..",
      "{}",
      joinToken({ alg: ["RS256"] }, {}, "AAAA"),
      joinToken({ alg: "RS256", crit: ["exp"], exp: 1 }, {}, "AAAA"),
      joinToken({ alg: "constructor", kid: "__proto__" }, {}, "AAAA"),
      joinToken([], "text", "AAAA"),
      joinToken(null, null, "AAAA"),
      "A".repeat(16_384),
      ".".repeat(16_384),
    ]) {
      assert.equal(await verify(altered), undefined, altered.slice(0, 100));
    }
    assert.ok(await verify(token));
  });
});

// spec/users#provider-keys
describe("the keys of a provider", () => {
  it("are fetched once, also for concurrent logins", async () => {
    const before = issuer.fetches;
    const token = await issuer.sign({ sub: "jane" });
    await Promise.all(Array.from({ length: 20 }, () => verify(token)));
    await verify(token);
    assert.equal(issuer.fetches, before + 1);
  });

  it("rotate seamlessly: the new key is valid at once, the old one no longer", async () => {
    const old = await issuer.sign({ sub: "jane" });
    for (let n = 0; n < 3; n++) {
      assert.ok(await verify(await issuer.sign({ sub: "jane" })));
      await issuer.rotate();
    }
    assert.ok(await verify(await issuer.sign({ sub: "jane" })));
    await assertRefused(old, "key");
  });

  it("are fetched once when many users log in right after a rotation", async () => {
    assert.ok(await verify(await issuer.sign({ sub: "jane" })));
    const before = issuer.fetches;
    await issuer.rotate();
    const token = await issuer.sign({ sub: "jane" });
    const verified = await Promise.all(Array.from({ length: 30 }, () => verify(token)));
    assert.ok(verified.every((claims) => claims !== undefined));
    assert.equal(issuer.fetches, before + 1);
  });

  it("are fetched ten times a minute at most when they are unknown", async () => {
    assert.ok(await verify(await issuer.sign({ sub: "jane" })));
    const before = issuer.fetches;
    const invented = await issuer.sign({ sub: "jane" }, { kid: "invented" });
    for (let n = 0; n < 30; n++) assert.equal(await verify(invented), undefined);
    assert.equal(issuer.fetches, before + 10);
    await issuer.rotate();
    const token = await issuer.sign({ sub: "jane" });
    assert.equal(await verify(token), undefined);
    now += 60_000;
    assert.ok(await verify(token));
  });

  it("cause ServiceUnavailable with a logged reason when they are unreachable, and cached keys stay in use", async (t) => {
    const away = await startIssuer(t);
    const token = await away.sign({ sub: "jane" });
    assert.ok(await verify(token, "jane", away.provider));
    await away.close();
    assert.ok(await verify(token, "jane", away.provider));
    idTokens = newIdTokens();
    await assertUnavailable(verify(token, "jane", away.provider));
    const { level, url, reason } = JSON.parse(logText[0] ?? "");
    assert.deepEqual([level, url], [40, away.provider.jwksUrl]);
    assert.match(reason, /ECONNREFUSED/);
  });

  it("count as unreachable when the key server fails, redirects or sends another kind of content", async (t) => {
    const failing = await startIssuer(t);
    const token = await failing.sign({ sub: "jane" });
    for (const [status, body] of [
      [500, ""],
      [503, ""],
      [404, '{"keys":[]}'],
      [302, ""],
      [200, "<html>"],
      [200, ""],
      [200, "[]"],
      [200, '{"keys":1}'],
    ] as const) {
      failing.answerWith((response) => response.writeHead(status, { location: issuer.provider.jwksUrl }).end(body));
      await assertUnavailable(verify(token, "jane", failing.provider));
    }
    failing.answerWith((response) => response.destroy());
    await assertUnavailable(verify(token, "jane", failing.provider));
    failing.answerWith((response) => response.end(JSON.stringify({ keys: [failing.publicJwk] })));
    assert.ok(await verify(token, "jane", failing.provider), "it is back");
  });

  it("are cached for a bounded number of providers", async (t) => {
    const busy = await startIssuer(t);
    const token = await busy.sign({ sub: "jane" });
    const at = (n: number) => ({ ...busy.provider, jwksUrl: `${busy.provider.jwksUrl}/${n}` });
    for (let n = 0; n <= 100; n++) assert.ok(await verify(token, "jane", at(n)));
    assert.equal(busy.fetches, 101);
    await verify(token, "jane", at(100));
    assert.equal(busy.fetches, 101);
    await verify(token, "jane", at(0));
    assert.equal(busy.fetches, 102);
  });
});
