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

/** Tokens that the app no longer uses and that must still be revoked at the service. */
export interface Outbox {
  /** Stores a token until the service has revoked it, or it has expired. */
  add(token: UserToken): Promise<void>;
  /** Tries to revoke all tokens, once each. Never rejects. */
  flush(client: IdentityClient, options?: CallOptions): Promise<void>;
  /** Tries in the background, after each success of a call: after failures it skips more and more successes. */
  flushSoon(client: IdentityClient): void;
  /** Notes that another tab may have stored tokens. */
  invalidate(): void;
}

const tokensMax = 20;
const skippedMax = 127;

/** @param onDeviceToken called with the token of the device that a logout answers */
export function createOutbox(
  { secrets, clock, serviceClock }: ScopeParts,
  onDeviceToken: (issued: IssuedToken, root: string) => Promise<void>,
): Outbox {
  /** Whether there may be tokens, as at the start. */
  let isFilled = true;
  let flushing = Promise.resolve();
  /** Calls may succeed where a logout does not: the number of successes to skip after the next failure, and now. */
  let skipped = 0;
  let toSkip = 0;
  let order = 0;

  /** The names of the tokens, the oldest first. */
  const list = () => secrets.list("outbox:");

  async function revokeAll(client: IdentityClient, options: CallOptions | undefined): Promise<void> {
    isFilled = false;
    for (const name of await list()) {
      const entry = await secrets.read<UserToken>(name, { ...tokenPattern, id: "" });
      // The local clock must not keep a token from being revoked.
      if (!entry || (await revoke(client, entry, options)) || entry.expires <= serviceClock.now())
        await secrets.remove(name);
      else isFilled = true;
    }
    toSkip = skipped;
    skipped = isFilled ? Math.min(skippedMax, skipped * 2 + 1) : 0;
  }

  /** Whether the token is invalid by now. */
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
