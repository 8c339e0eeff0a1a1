import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { OidcProvider } from "../src/tenancy/identity-provider.ts";

/** A test's own OpenID Connect provider: a key server on loopback, and its id_tokens. */
export interface TestIssuer {
  readonly provider: OidcProvider;
  /** The number of received requests for its keys. */
  readonly fetches: number;
  /** The public key of the current signatures. */
  readonly publicJwk: JWK;
  /** Returns an id_token that is valid for an hour, with these claims replaced; an undefined claim is omitted. */
  sign(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Replaces the signing key. */
  rotate(algorithm?: string): Promise<void>;
  /** Sets the handler of requests for the keys. */
  answerWith(answer: (response: ServerResponse) => void): void;
  close(): Promise<void>;
}

/** @param now the clock of the tokens, in milliseconds */
export async function startTestIssuer(now: () => number, algorithm = "RS256"): Promise<TestIssuer> {
  let fetches = 0;
  let keyCount = 0;
  let key = await newKey(algorithm);
  let answer = (response: ServerResponse): void => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: [key.publicJwk] }));
  };
  const server = createServer((_request, response) => {
    fetches += 1;
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number }; // a TCP listener has an address object
  const url = `http://127.0.0.1:${port}`;
  const provider = { issuer: url, audience: "the client id", jwksUrl: `${url}/keys` };

  async function newKey(alg: string) {
    const { privateKey, publicKey } = await generateKeyPair(alg);
    keyCount += 1;
    const kid = `key ${keyCount}`;
    return { alg, kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
  }

  return {
    provider,
    get fetches() {
      return fetches;
    },
    get publicJwk() {
      return key.publicJwk;
    },
    sign(claims, header = {}) {
      const { alg, kid } = key;
      const seconds = Math.floor(now() / 1_000);
      const times = { iat: seconds, exp: seconds + 3_600 };
      const all = { iss: provider.issuer, aud: provider.audience, ...times, ...claims };
      return new SignJWT(all).setProtectedHeader({ alg, kid, typ: "JWT", ...header }).sign(key.privateKey);
    },
    async rotate(alg = algorithm) {
      key = await newKey(alg);
    },
    answerWith(given) {
      answer = given;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Assembles a token by hand, because the library refuses to sign it. */
export function joinToken(header: unknown, payload: unknown, signature = ""): string {
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");
  return `${encode(header)}.${encode(payload)}.${signature}`;
}
