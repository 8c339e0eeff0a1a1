import type { CallOptions, Sent } from "../transport/options.ts";
import type { Transport } from "../transport/transport.ts";
import type { Call } from "../wire/call.ts";
import type { IdentityClient } from "./client.ts";
import type { Login, LoginCall } from "./sessions.ts";

/** The key of a client's internals, which the package does not export. */
export const inside: unique symbol = Symbol.for("@rollcall/sdk inside") as typeof inside;

/** The internals of a client that the parts of the package, such as signing, use. */
export interface Inside {
  readonly transport: Transport;
  readonly client: IdentityClient;
  /** The prefix of the names that the tabs of the device share; undefined for a store in memory. */
  readonly scope: string | undefined;
  /** Sends a call as a user or as the device. */
  send<T>(userId: string | undefined, call: Call<T>, options?: CallOptions): Sent<T>;
  /** Sends a sign-in or sign-up as the device, without storing the session. */
  login(call: LoginCall, options?: CallOptions): Promise<Login>;
  /** Renews the token of a user if renewal is due, as every call of the user does. */
  keepSession(userId: string): void;
  /** The installed parts: installing one twice returns the first. */
  readonly parts: Map<string, unknown>;
}

/** A client as the functions that install parts take it. */
export interface HasInside {
  readonly [inside]: Inside;
}
