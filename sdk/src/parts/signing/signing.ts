import { type HasInside, inside } from "../../identity/inside.ts";
import { hexOf } from "../../lib/hex.ts";
import { ConfigurationError } from "../../wire/errors.ts";

/** Computes the HMAC-SHA256 of a string, in hexadecimal digits. */
export type Hmac = (secret: string, text: string) => string | Promise<string>;

export interface SigningOptions {
  /** The shared secret of the application. Never use it in a web page, where every visitor can read it. */
  readonly secret: string;
  /** Replaces WebCrypto, which pages without TLS and some runtimes lack. */
  readonly hmac?: Hmac;
}

/**
 * Signs all calls of a client, and checks at each registration that the service has the secret, too. If it does not,
 * calls reject with ConfigurationError before any other request is sent. Installed twice on one client, the first
 * secret is used.
 *
 * @throws ConfigurationError if there is no client or no secret, or the runtime cannot compute signatures
 */
export function signing(client: HasInside, options: SigningOptions): void {
  if (!Object(client)[inside]) throw new ConfigurationError("signing: client must be the result of createRollcall.");
  const { parts, transport, client: owner } = client[inside];
  if (parts.has("signing")) return;
  const { secret, hmac }: SigningOptions = Object(options);
  if (typeof secret !== "string" || secret === "") throw new ConfigurationError("signing: the secret is missing.");
  if (hmac === undefined && globalThis.crypto?.subtle === undefined) {
    throw new ConfigurationError("signing: this runtime has no crypto.subtle: pass the option hmac.");
  }
  const sign = hmac ?? createHmac();
  transport.sign(async (method, path) => sign(secret, `${method}\n${owner.options.appid}\n${path}`));
  owner.verifyRegistration = async ({ serverSignature }, appkey) => {
    if (serverSignature?.toLowerCase() === (await sign(secret, `${appkey}\n`)).toLowerCase()) return;
    const problem = serverSignature === undefined ? "has no secret" : "has another secret";
    throw new ConfigurationError(`signing: the service ${problem} for this application.`);
  };
  parts.set("signing", true);
}

/** Computes signatures by WebCrypto, and imports the secret once. */
function createHmac(): Hmac {
  const bytes = (text: string) => new TextEncoder().encode(text);
  let key: Promise<CryptoKey> | undefined;
  return async (secret, text) => {
    key ??= crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const signature = await crypto.subtle.sign("HMAC", await key, bytes(text));
    return hexOf(new Uint8Array(signature));
  };
}
