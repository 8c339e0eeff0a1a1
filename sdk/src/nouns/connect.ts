import { type Batch, type BatchOptions, createBatch } from "../batch/batch.ts";
import { isInsecure, normalizeAddress } from "../lib/address.ts";
import type { TransportOptions } from "../transport/options.ts";
import type { Principal } from "../transport/principal.ts";
import { createTransport } from "../transport/transport.ts";
import { ConfigurationError } from "../wire/errors.ts";
import { createNouns, type Nouns } from "./nouns.ts";
import type { Send } from "./send.ts";

export interface ConnectOptions extends TransportOptions {
  /** The address of the service. */
  readonly url: string;
  /** The token of a user or a device. */
  readonly token: string;
  /** The root that came with the token, where it is another one than `url`. */
  readonly root?: string | undefined;
  /** Allows addresses without TLS, where tokens can be read on the way. */
  readonly insecure?: boolean;
}

/** Calls for the owner of one token. */
export interface Connection extends Nouns {
  readonly send: Send;
  batch(options?: BatchOptions): Batch;
}

/**
 * Makes calls with a token that the app has, such as a server that renders a page for a user: without store, registration,
 * renewal or timers. A dead token is the error AuthAccessTokenInvalid, and nothing else happens.
 *
 * @throws ConfigurationError if an address is wrong
 */
export function connect({ url, token, root = url, insecure = false, ...options }: ConnectOptions): Connection {
  const address = normalizeAddress(root);
  if (address === undefined || (!insecure && isInsecure(address))) {
    throw new ConfigurationError("connect: the address must begin with https://, or the option insecure be set.");
  }
  const transport = createTransport(options);
  const credentials = { root: address, token };
  const principal: Principal = {
    id: token,
    credentials: async () => credentials,
    replace: async (_dead, error) => {
      throw error;
    },
  };
  const send: Send = (call, callOptions) => transport.send(call, principal, callOptions);
  const batch = (batchOptions?: BatchOptions) => createBatch({ send, pace: transport.pace }, batchOptions);
  return { ...createNouns(send), send, batch };
}
