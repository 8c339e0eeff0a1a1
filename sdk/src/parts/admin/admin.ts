import { createOperatorSession, deleteOperatorSession, type OperatorSession } from "../../generated/admin.ts";
import { isInsecure, normalizeAddress } from "../../lib/address.ts";
import { createEvents, reportThrown } from "../../lib/events.ts";
import { createPages, type PageOptions, type Pages, type WirePage } from "../../pages/pages.ts";
import type { CallOptions, Sent, TransportOptions } from "../../transport/options.ts";
import type { Principal } from "../../transport/principal.ts";
import { createTransport } from "../../transport/transport.ts";
import type { AnyCall, Call } from "../../wire/call.ts";
import type { Download } from "../../wire/download.ts";
import { ConfigurationError, describeCall, NotSignedIn, ServiceError, SessionEnded } from "../../wire/errors.ts";

export interface AdminOptions extends TransportOptions {
  /** The address of the service. */
  readonly url: string;
  /** The token of a session that has begun elsewhere. */
  readonly token?: string | undefined;
  /** Allows addresses without TLS, where tokens and passwords can be read on the way. */
  readonly insecure?: boolean;
}

/** A client for scripts and tools of operators. Its token is in memory alone. */
export interface Admin {
  signIn(
    input: { readonly name: string; readonly password: string },
    options?: CallOptions,
  ): Promise<OperatorSession & { readonly token: string }>;
  /** Ends the session. */
  signOut(options?: CallOptions): Promise<void>;
  /** Rejects with NotSignedIn without a session, and with SessionEnded once the service has ended it. */
  send<T>(call: Call<T>, options?: CallOptions): Sent<T>;
  pages<T>(call: Call<WirePage<T>>, options?: PageOptions): Pages<T>;
  download(call: Call<Download>, options?: CallOptions): Promise<Download>;
  /** Calls the listener when the session has ended. Returns what removes it. */
  on(event: "signedOut", listener: () => void): () => void;
  /** Ends all calls under way. */
  close(): void;
}

/** @throws ConfigurationError if the address is wrong */
export function createAdmin({ url, token: firstToken = "", insecure = false, ...options }: AdminOptions): Admin {
  const root = normalizeAddress(url);
  if (root === undefined || (!insecure && isInsecure(root))) {
    throw new ConfigurationError("createAdmin: the address must begin with https://, or the option insecure be set.");
  }
  const transport = createTransport(options);
  const events = createEvents<{ readonly type: "signedOut" }>(reportThrown);
  let token = firstToken;

  function end(ended: string): void {
    if (token !== ended) return;
    token = "";
    events.emit({ type: "signedOut" });
  }

  const principalOf = (call: AnyCall, ofCall: string): Principal => ({
    id: "operator",
    async credentials() {
      if (ofCall !== "" || call.operation.caller === "anyone") return { root, token: ofCall };
      const message = `${call.operation.id}: NotSignedIn: no operator is signed in`;
      throw new NotSignedIn(message, { call: describeCall(call) });
    },
    replace: async (_dead, error) => {
      throw error;
    },
  });

  function send<T>(call: Call<T>, callOptions?: CallOptions): Sent<T> {
    const ofCall = call.operation.caller === "anyone" ? "" : token;
    const sent = transport.send(call, principalOf(call, ofCall), callOptions);
    const fail = (error: unknown): never => {
      if (ofCall === "" || !(error instanceof ServiceError) || !error.is("AuthFailed")) throw error;
      end(ofCall);
      const { attempts, outcome } = error;
      const message = `${call.operation.id}: SessionEnded: the session of the operator has ended`;
      throw new SessionEnded(message, { call: describeCall(call), attempts, outcome, cause: error });
    };
    const meta = sent.meta.catch(fail);
    meta.catch(() => {});
    return Object.assign(sent.catch(fail), { meta });
  }

  return {
    async signIn(input, callOptions) {
      const { token: begun = "", ...session } = await send(createOperatorSession(input), callOptions); // absent for the cookie of a browser alone
      token = begun;
      return { ...session, token };
    },
    async signOut(callOptions) {
      const ended = token;
      await send(deleteOperatorSession(), callOptions);
      end(ended);
    },
    send,
    pages: (call, pageOptions) =>
      createPages(
        (pagingToken, callOptions) =>
          send(pagingToken === undefined ? call : { ...call, parameters: { pagingToken } }, callOptions),
        pageOptions,
      ),
    download: send,
    on: events.on,
    close: transport.close,
  };
}
