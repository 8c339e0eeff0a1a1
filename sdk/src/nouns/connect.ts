import type { TransportOptions } from "../transport/options.ts";
import { fixedPrincipal } from "../transport/principal.ts";
import { createTransport } from "../transport/transport.ts";
import { uploads } from "../transport/upload.ts";
import { checkAddress, checkToken } from "../wire/address.ts";
import { type Calls, createCalls } from "./calls.ts";

export interface ConnectOptions extends TransportOptions {
  /** The address of the service. */
  readonly url: string;
  /** The token of a user or a device. */
  readonly token: string;
  /** The root address that was returned with the token, if it differs from `url`. */
  readonly root?: string | undefined;
  /** Allows http addresses, where tokens can be read in transit. */
  readonly insecure?: boolean;
}

/** Sends calls as the owner of one token. */
export interface Connection extends Calls {}

/**
 * Creates a connection with an existing token, for example in a server that renders a page for a user: without store,
 * registration, renewal or timers. An invalid token leads to the error AuthAccessTokenInvalid, and has no further effect.
 *
 * @throws ConfigurationError if an address is wrong
 */
export function connect(connectOptions: ConnectOptions): Connection {
  const { url, token, root = url, insecure, ...options }: ConnectOptions = Object(connectOptions);
  const address = checkAddress("connect: url or root", root, insecure);
  checkToken("connect: token", token);
  const transport = createTransport(options, { uploads });
  const principal = fixedPrincipal("", { root: address, token });
  return createCalls((call, callOptions) => transport.send(call, principal, callOptions), transport);
}
