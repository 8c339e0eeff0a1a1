import { logoutUser } from "../generated/calls.ts";
import type { DeviceToken as IssuedToken } from "../generated/types.ts";
import { inBackground } from "../lib/background.ts";
import { newUuid } from "../lib/uuid.ts";
import type { CallOptions } from "../transport/options.ts";
import { fixedPrincipal } from "../transport/principal.ts";
import { ServiceError } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import type { ScopeParts } from "./scope-parts.ts";
import type { UserToken } from "./state.ts";

/** Tokens that the app has given up and the service has still to revoke. */
export interface Outbox {
  /** Keeps a token until the service has revoked it, or it has expired. */
  add(token: UserToken): Promise<void>;
  /** Tries to revoke all tokens, once each. Never rejects. */
  flush(client: IdentityClient, options?: CallOptions): Promise<void>;
  /** Tries in the background if there may be tokens and the last attempt was not just now. */
  flushSoon(client: IdentityClient): void;
}

const tokensMax = 20;
const pauseMs = 30_000;
const pattern = { token: "", root: "", expires: 0, issued: 0, id: "" };

/** @param onDeviceToken called with the token of the device that a logout answers */
export function createOutbox(
  { secrets, clock, serviceClock }: ScopeParts,
  onDeviceToken: (issued: IssuedToken, root: string) => Promise<void>,
): Outbox {
  /** Whether there may be tokens; unknown at the start. */
  let isEmpty = false;
  let flushing: Promise<void> | undefined;
  let nextFlush = Number.NEGATIVE_INFINITY;
  let order = 0;

  /** The tokens, the oldest first. */
  async function entries(): Promise<(typeof pattern & { readonly name: string })[]> {
    const found = [];
    for (const name of await secrets.list("outbox:")) {
      const entry = await secrets.read(name, pattern);
      if (entry !== undefined) found.push({ ...entry, name });
    }
    return found;
  }

  async function revokeAll(client: IdentityClient, options: CallOptions): Promise<void> {
    for (const entry of await entries()) {
      if (entry.expires <= serviceClock.now() || (await revoke(client, entry, options)))
        await secrets.remove(entry.name);
    }
    isEmpty = (await secrets.list("outbox:")).length === 0;
  }

  /** Whether the token is dead now. */
  async function revoke(
    client: IdentityClient,
    { root, token, id }: UserToken,
    options: CallOptions,
  ): Promise<boolean> {
    try {
      const principal = fixedPrincipal(`outbox:${id}`, { root, token });
      await onDeviceToken(await client.transport.send(logoutUser(), principal, { retry: false, ...options }), root);
      return true;
    } catch (error) {
      return error instanceof ServiceError && error.is("AuthAccessTokenInvalid");
    }
  }

  const outbox: Outbox = {
    async add(token) {
      isEmpty = false;
      nextFlush = Number.NEGATIVE_INFINITY;
      order = Math.max(order + 1, clock.now());
      // Names of equal length, so that the oldest comes first in a listing.
      await secrets.write(`outbox:${order}:${newUuid()}`, token);
      const old = (await entries()).slice(0, -tokensMax);
      for (const { name } of old) await secrets.remove(name);
    },
    flush(client, options = {}) {
      nextFlush = clock.now() + pauseMs;
      const before = flushing ?? Promise.resolve();
      const current = before.then(() => revokeAll(client, options)).catch(() => {});
      flushing = current;
      return current;
    },
    flushSoon(client) {
      if (!isEmpty && clock.now() >= nextFlush) inBackground(outbox.flush(client));
    },
  };
  return outbox;
}
