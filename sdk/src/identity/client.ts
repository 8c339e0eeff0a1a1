import type { DeviceRegistration } from "../generated/types.ts";
import type { Interceptors } from "../transport/interceptors.ts";
import type { Transport } from "../transport/transport.ts";
import type { IdentityOptions } from "./options.ts";

/**
 * What the device and the sessions need of a client. Clients of one scope share both, but each client has its own
 * members of this type.
 */
export interface IdentityClient {
  readonly transport: Pick<Transport, "send">;
  readonly interceptors: Pick<Interceptors, "size">;
  readonly options: IdentityOptions;
  /** The address at which the device is registered. */
  readonly url: string;
  /** The time limit of a sign-in, including its retries. */
  readonly signInMs: number;
  /** Set by the part that signs requests. @throws ConfigurationError if the service does not have the secret of the app */
  verifyRegistration?: (result: DeviceRegistration, appkey: string) => Promise<void>;
}
