import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, beforeEach, describe, it, type TestContext } from "node:test";
import { exportSPKI, importJWK } from "jose";
import { joinToken, startTestIssuer, type TestIssuer } from "../../test/oidc-issuer.ts";
import { ApiError } from "../errors.ts";
import { createLog } from "../log.ts";
import { createIdTokens, type IdTokens, type OidcProvider } from "./oidc.ts";

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

/** With nothing remembered. */
function newIdTokens(): IdTokens {
  logText = [];
  const log = createLog("trace", { write: (line) => void logText.push(line) });
  return createIdTokens({ clock: { now: () => now }, log });
}

function verify(token: string, subject = "jane", provider: OidcProvider = issuer.provider) {
  return idTokens.verify(token, subject, provider);
}

async function assertRefused(token: string, why: object, subject = "jane"): Promise<void> {
  logText = [];
  assert.equal(await verify(token, subject), undefined);
  const { level, time: _, msg: __, issuer: ___, ...reason } = JSON.parse(logText[0] ?? "");
  assert.deepEqual({ level, ...reason }, { level: 30, ...why });
  if (token !== "") assert.ok(!logText.join("").includes(token));
}

function assertUnavailable(verifying: Promise<unknown>): Promise<void> {
  return assert.rejects(verifying, (error) => error instanceof ApiError && error.condition === "ServiceUnavailable");
}

async function startIssuer(t: TestContext, algorithm?: string): Promise<TestIssuer> {
  const started = await startTestIssuer(() => now, algorithm);
  t.after(() => started.close().catch(() => {})); // some tests end it themselves
  return started;
}

describe("an id_token: surface.md section 5, OpenID Connect Core 3.1.3.7", () => {
  it("that is good gives what it says", async () => {
    const claims = await verify(await issuer.sign({ sub: "jane", email: "jane@example.com" }));
    assert.equal(claims?.sub, "jane");
    assert.equal(claims?.["email"], "jane@example.com");
    assert.deepEqual(logText, []);
  });

  it("is good with any signature that only the provider can make", async (t) => {
    for (const algorithm of ["PS256", "ES256", "ES384", "ES512", "EdDSA", "RS512"]) {
      const other = await startIssuer(t, algorithm);
      assert.ok(await verify(await other.sign({ sub: "jane" }), "jane", other.provider), algorithm);
    }
  });

  it("for another subject, from another issuer, or for another audience is refused", async () => {
    const claim = { code: "ERR_JWT_CLAIM_VALIDATION_FAILED" };
    await assertRefused(await issuer.sign({ sub: "joe" }), { ...claim, claim: "sub" });
    await assertRefused(await issuer.sign({ sub: "jane" }), { ...claim, claim: "sub" }, "Jane");
    await assertRefused(await issuer.sign({ sub: "jane", iss: "https://evil.example" }), { ...claim, claim: "iss" });
    await assertRefused(await issuer.sign({ sub: "jane", iss: `${issuer.provider.issuer}/` }), {
      ...claim,
      claim: "iss",
    });
    await assertRefused(await issuer.sign({ sub: "jane", aud: "another client" }), { ...claim, claim: "aud" });
    await assertRefused(await issuer.sign({ sub: "jane", aud: [] }), { ...claim, claim: "aud" });
  });

  it("without subject, issuer, audience or expiry is refused", async () => {
    for (const claim of ["sub", "iss", "aud", "exp"]) {
      const token = await issuer.sign({ sub: "jane", [claim]: undefined });
      await assertRefused(token, { code: "ERR_JWT_CLAIM_VALIDATION_FAILED", claim });
    }
  });

  it("for several audiences must name ours as the one it was made for", async () => {
    const aud = ["another client", issuer.provider.audience];
    await assertRefused(await issuer.sign({ sub: "jane", aud }), { claim: "azp" });
    await assertRefused(await issuer.sign({ sub: "jane", aud, azp: "another client" }), { claim: "azp" });
    assert.ok(await verify(await issuer.sign({ sub: "jane", aud, azp: issuer.provider.audience })));
    assert.ok(await verify(await issuer.sign({ sub: "jane", aud: [issuer.provider.audience] })));
  });

  it("has its time, but for a minute in which clocks may differ", async () => {
    const seconds = start / 1_000;
    const expiring = await issuer.sign({ sub: "jane", exp: seconds });
    const early = await issuer.sign({ sub: "jane", nbf: seconds + 120 });
    now = start + 59_000;
    assert.ok(await verify(expiring));
    await assertRefused(early, { code: "ERR_JWT_CLAIM_VALIDATION_FAILED", claim: "nbf" });
    now = start + 60_000;
    await assertRefused(expiring, { code: "ERR_JWT_EXPIRED", claim: "exp" });
    assert.ok(await verify(early));
  });

  it("is no other token of the provider: an access token, a logout token", async () => {
    for (const typ of ["at+jwt", "application/AT+JWT", "logout+jwt"]) {
      await assertRefused(await issuer.sign({ sub: "jane" }, { typ }), { claim: "typ" });
    }
    assert.ok(await verify(await issuer.sign({ sub: "jane" }, { typ: undefined })));
  });

  it("with a signature that anybody can make is refused: none, or a secret that is public", async () => {
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
      await assertRefused(`${unsigned}.${signature}`, { code: "ERR_JOSE_ALG_NOT_ALLOWED" });
    }
  });

  it("that was signed by somebody else, or brings its own key, is refused", async (t) => {
    const evil = await startIssuer(t);
    const claims = { sub: "jane", iss: issuer.provider.issuer };
    const { publicJwk, provider } = evil;
    for (const header of [{}, { jwk: publicJwk }, { jku: provider.jwksUrl }, { kid: issuer.publicJwk.kid }]) {
      assert.equal(await verify(await evil.sign(claims, header)), undefined);
    }
    assert.equal(evil.fetches, 0);
  });

  it("that was altered in any part, or is none at all, is refused", async () => {
    const token = await issuer.sign({ sub: "jane" });
    const [head = "", payload = "", signature = ""] = token.split(".");
    const forged = Buffer.from(payload, "base64url").toString().replace('"jane"', '"joe"');
    const forgedPayload = Buffer.from(forged).toString("base64url");
    assert.equal(await verify(`${head}.${forgedPayload}.${signature}`, "joe"), undefined);
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

describe("the keys of a provider", () => {
  it("are asked for once, also for logins at the same time", async () => {
    const before = issuer.fetches;
    const token = await issuer.sign({ sub: "jane" });
    await Promise.all(Array.from({ length: 20 }, () => verify(token)));
    await verify(token);
    assert.equal(issuer.fetches, before + 1);
  });

  it("are rotated without anybody noticing: the new key is good at once, the old one no more", async () => {
    const old = await issuer.sign({ sub: "jane" });
    for (let n = 0; n < 3; n++) {
      assert.ok(await verify(await issuer.sign({ sub: "jane" })));
      await issuer.rotate();
    }
    assert.ok(await verify(await issuer.sign({ sub: "jane" })));
    await assertRefused(old, { code: "ERR_JWKS_NO_MATCHING_KEY" });
  });

  it("are asked for once when many log in right after a rotation", async () => {
    assert.ok(await verify(await issuer.sign({ sub: "jane" })));
    const before = issuer.fetches;
    await issuer.rotate();
    const token = await issuer.sign({ sub: "jane" });
    const verified = await Promise.all(Array.from({ length: 30 }, () => verify(token)));
    assert.ok(verified.every((claims) => claims !== undefined));
    assert.equal(issuer.fetches, before + 1);
  });

  it("that are unknown are asked for ten times a minute at most, and again in the next", async () => {
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

  it("that are out of reach are ServiceUnavailable, and the log says why; known ones serve on", async (t) => {
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

  it("are out of reach as well when the key server fails, sends elsewhere or sends something else", async (t) => {
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

  it("of hundreds of providers are not all remembered", async (t) => {
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
