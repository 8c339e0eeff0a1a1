import { logoutUser } from "../generated/calls.ts";
import type { DeviceToken as IssuedToken } from "../generated/types.ts";
import { inBackground } from "../lib/background.ts";
import { newUuid } from "../lib/uuid.ts";
import type { CallOptions } from "../transport/options.ts";
import { fixedPrincipal } from "../transport/principal.ts";
import { isNamed } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import type { ScopeParts } from "./scope-parts.ts";
import { tokenPattern, type UserToken } from "./state.ts";

/** A queue of tokens that the app no longer uses and that the service must still revoke. */
export interface Outbox {
  /** Stores a token until it is revoked or expires. */
  add(token: UserToken): Promise<void>;
  /** Tries once to revoke each token. Never rejects. */
  flush(client: IdentityClient, options?: CallOptions): Promise<void>;
  /** Tries in the background after a successful call; after failures it skips a growing number of calls. */
  flushSoon(client: IdentityClient): void;
  /** Records that another tab may have stored tokens. */
  invalidate(): void;
}

const tokensMax = 20;
const skippedMax = 127;

/** @param onDeviceToken called with the token of the device that a logout answers */
export function createOutbox(
  { secrets, clock, serviceClock }: ScopeParts,
  onDeviceToken: (issued: IssuedToken, root: string) => Promise<void>,
): Outbox {
  /** Whether the store may contain tokens. */
  let isFilled = true;
  let flushing = Promise.resolve();
  /** Other calls may succeed while logouts fail: the number of calls to skip after the next failure, and now. */
  let skipped = 0;
  let toSkip = 0;
  let order = 0;

  /** The names of the tokens, oldest first. */
  const list = () => secrets.list("outbox:");

  async function revokeAll(client: IdentityClient, options: CallOptions | undefined): Promise<void> {
    isFilled = false;
    for (const name of await list()) {
      const entry = await secrets.read<UserToken>(name, { ...tokenPattern, id: "" });
      // A wrong local clock must not prevent the revocation of a token.
      if (!entry || (await revoke(client, entry, options)) || entry.expires <= serviceClock.now())
        await secrets.remove(name);
      else isFilled = true;
    }
    toSkip = skipped;
    skipped = isFilled ? Math.min(skippedMax, skipped * 2 + 1) : 0;
  }

  /** Whether the token is invalid now. */
  async function revoke(
    { transport }: IdentityClient,
    { root, token, id }: UserToken,
    options: CallOptions | undefined,
  ): Promise<boolean> {
    try {
      const principal = fixedPrincipal(`outbox:${id}`, { root, token });
      await onDeviceToken(await transport.send(logoutUser(), principal, { retry: false, ...options }), root);
    } catch (error) {
      return isNamed(error, "AuthAccessTokenInvalid");
    }
    return true;
  }

  const outbox: Outbox = {
    async add(token) {
      isFilled = true;
      toSkip = 0;
      order = Math.max(order + 1, clock.now());
      // Names of equal length, so that the oldest comes first in a listing.
      await secrets.write(`outbox:${order}:${newUuid()}`, token);
      for (const name of (await list()).slice(0, -tokensMax)) await secrets.remove(name);
    },
    flush(client, options) {
      flushing = flushing.then(() => revokeAll(client, options));
      return flushing;
    },
    flushSoon(client) {
      if (isFilled && --toSkip < 0) inBackground(outbox.flush(client));
    },
    invalidate() {
      isFilled = true;
    },
  };
  return outbox;
}
