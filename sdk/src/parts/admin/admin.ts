import type { OperatorSession } from "../../generated/admin.ts";
import { operatorDateMembers } from "../../generated/operator-dates.ts";
import { createOperatorSession, deleteOperatorSession } from "../../generated/operator-sessions.ts";
import { createEvents } from "../../lib/events.ts";
import { createPages, type PageOptions, type Pages, type WirePage } from "../../pages/pages.ts";
import type { CallOptions, Sent, TransportOptions } from "../../transport/options.ts";
import { fixedPrincipal } from "../../transport/principal.ts";
import { createTransport } from "../../transport/transport.ts";
import { checkAddress, checkToken } from "../../wire/address.ts";
import type { Call } from "../../wire/call.ts";
import type { Download } from "../../wire/download.ts";
import { describeCall, NotSignedIn, ServiceError, SessionEnded } from "../../wire/errors.ts";

export interface AdminOptions extends TransportOptions {
  /** The address of the service. */
  readonly url: string;
  /** The token of a session that was started elsewhere. */
  readonly token?: string | undefined;
  /** Allows addresses without TLS, where tokens and passwords can be read in transit. */
  readonly insecure?: boolean;
}

/** A client for operators' scripts and tools. It stores its token only in memory. */
export interface Admin {
  signIn(
    input: { readonly name: string; readonly password: string },
    options?: CallOptions,
  ): Promise<OperatorSession & { readonly token: string }>;
  /** Signs out: revokes the session's token. */
  signOut(options?: CallOptions): Promise<void>;
  /** Rejects with NotSignedIn without a session, and with SessionEnded after the service has revoked it. */
  send<T>(call: Call<T>, options?: CallOptions): Sent<T>;
  pages<T>(call: Call<WirePage<T>>, options?: PageOptions): Pages<T>;
  download(call: Call<Download>, options?: CallOptions): Promise<Download>;
  /** Calls the listener when the operator is no longer signed in. Returns a function that removes the listener. */
  on(event: "signedOut", listener: () => void): () => void;
  /** Aborts all pending calls. */
  close(): void;
}

/** @throws ConfigurationError if the address is wrong */
export function createAdmin(adminOptions: AdminOptions): Admin {
  const { url, token: firstToken = "", insecure, ...options }: AdminOptions = Object(adminOptions);
  const root = checkAddress("createAdmin: url", url, insecure);
  if (firstToken) checkToken("createAdmin: token", firstToken);
  const transport = createTransport(options, { moreDates: operatorDateMembers });
  const events = createEvents<{ readonly type: "signedOut" }>();
  let token = firstToken;

  function end(ended: string): void {
    if (token !== ended) return;
    token = "";
    events.emit({ type: "signedOut" });
  }

  function send<T>(call: Call<T>, callOptions?: CallOptions): Sent<T> {
    const isAnonymous = call?.operation?.caller === "anyone";
    const ofCall = isAnonymous ? "" : token;
    const findPrincipal = () => {
      if (ofCall === "" && !isAnonymous)
        throw new NotSignedIn("no operator is signed in", { call: describeCall(call) });
      return fixedPrincipal("operator", { root, token: ofCall });
    };
    const sent = transport.send(call, findPrincipal, callOptions);
    const fail = (cause: unknown): never => {
      if (ofCall === "" || !(cause instanceof ServiceError) || !cause.is("AuthFailed")) throw cause;
      end(ofCall);
      const { attempts, outcome } = cause;
      const details = { call: describeCall(call), attempts, outcome, cause };
      throw new SessionEnded("the session of the operator has ended", details);
    };
    const meta = sent.meta.catch(fail);
    meta.catch(() => {});
    return Object.assign(sent.catch(fail), { meta });
  }

  return {
    async signIn(input, callOptions) {
      const { token: begun = "", ...session } = await send(createOperatorSession(input), callOptions); // only a browser gets a cookie instead
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
