import { findEndedTokens } from "../auth/ended-tokens.ts";
import { findSession } from "../auth/user-tokens.ts";
import type { Caller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { Policies } from "../tenancy/policies.ts";

/** The content of a ticket. */
export interface Ticket {
  readonly caller: Caller;
  /** The parameters of the stream, as they were sent. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** When the session of a user expires unless its token is renewed. */
  readonly sessionEndsAt?: number | undefined;
}

/** Sealed strings that open streams in place of a token (spec/streams#tickets). */
export interface Tickets {
  seal(caller: Caller, parameters: Ticket["parameters"], expiresAt: number): string;
  /**
   * Returns the caller of a ticket, with the current policy. A ticket outlives the token that created it, but not the
   * session of that token, which ends when it is revoked or its newest token expires.
   *
   * @throws ApiError AuthSignatureInvalid, AuthAccessTokenInvalid
   */
  open(text: string): Promise<Ticket>;
}

type Written = readonly [caller: Omit<Caller, "policy">, parameters: Ticket["parameters"]];

export function createTickets({
  secrets,
  clock,
  database,
  policies,
  refresh,
}: {
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly database: Database;
  readonly policies: Policies;
  /** Makes commits of other processes visible to reads. */
  refresh(): void;
}): Tickets {
  const sealer = createSealer(secrets, "event stream ticket");
  return {
    seal({ policy: _, ...caller }, parameters, expiresAt) {
      const written: Written = [{ ...caller, tokenExpiresAt: expiresAt }, parameters];
      return sealer.seal(JSON.stringify(written), "");
    },

    async open(text) {
      const opened = sealer.open(text, "");
      if (opened === undefined) throw new ApiError("AuthSignatureInvalid", "The ticket is unknown.");
      const [written, parameters]: Written = JSON.parse(opened); // the seal guarantees its shape
      if (written.tokenExpiresAt <= clock.now()) throw new ApiError("AuthSignatureInvalid", "The ticket has expired.");
      const { applicationId } = written;
      refresh();
      const policy = await policies.load(applicationId);
      const caller = policy && { ...written, policy };
      const ended = caller && (await findEndedTokens(applicationId, [caller], clock.now(), database.reads));
      if (caller === undefined || ended?.has(caller) !== false) {
        throw new ApiError("AuthAccessTokenInvalid", "The session of the ticket has ended.");
      }
      const { userId, tokenId } = caller;
      if (userId === undefined) return { caller, parameters };
      const session = await findSession({ applicationId, userId, tokenId }, database.reads);
      return { caller, parameters, sessionEndsAt: session?.expires_at };
    },
  };
}
