import type { CallOptions, Sent } from "../transport/options.ts";
import type { Transport } from "../transport/transport.ts";
import type { Call } from "../wire/call.ts";
import type { IdentityClient } from "./client.ts";
import type { Login, LoginCall } from "./sessions.ts";

/** The place where a client keeps the internals that its parts need; the package exports it to no app. */
export const inside: unique symbol = Symbol.for("@rollcall/sdk inside") as typeof inside;

/** The internals of a client that the parts of the package, such as signing, use. */
export interface Inside {
  readonly transport: Transport;
  readonly client: IdentityClient;
  /** The prefix of the names that the tabs of the device share; undefined if the store ends with the process. */
  readonly scope: string | undefined;
  /** Sends a call for a user, or for the device. */
  send<T>(userId: string | undefined, call: Call<T>, options?: CallOptions): Sent<T>;
  /** Sends a sign-in or sign-up for the device, and stores nothing. */
  login(call: LoginCall, options?: CallOptions): Promise<Login>;
  /** Renews the token of a user if it is time, as every call of the user does. */
  keepSession(userId: string): void;
  /** The installed parts: installing one twice returns the first. */
  readonly parts: Map<string, unknown>;
}

/** A client as the functions that install parts take it. */
export interface HasInside {
  readonly [inside]: Inside;
}
