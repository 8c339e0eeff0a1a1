import type { DeviceRegistration } from "../generated/types.ts";
import type { Interceptors } from "../transport/interceptors.ts";
import type { Transport } from "../transport/transport.ts";
import type { IdentityOptions } from "./options.ts";

/**
 * The part of a client that its device and its sessions use; clients of one scope share both, and have these members
 * for themselves.
 */
export interface IdentityClient {
  readonly transport: Pick<Transport, "send">;
  readonly interceptors: Pick<Interceptors, "size">;
  readonly options: IdentityOptions;
  /** The address at which the device is registered. */
  readonly url: string;
  /** The limit of a sign-in with all its attempts. */
  readonly signInMs: number;
  /** Set by the part that signs requests. @throws ConfigurationError if the service does not have the secret of the app */
  verifyRegistration?: (result: DeviceRegistration, appkey: string) => Promise<void>;
}
