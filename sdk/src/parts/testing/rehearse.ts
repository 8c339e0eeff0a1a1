import type { OperationConditions } from "../../generated/rehearsals.ts";
import type { Interceptor } from "../../transport/interceptors.ts";
import { ConfigurationError } from "../../wire/errors.ts";

/** The faults that a call can suffer without an error of the service: see spec/rehearsal. */
export type Fault = "cut" | "truncated" | "html" | "slow";

interface When<Operation> {
  readonly operation: Operation;
  /**
   * `before`: the call has no effect, which is the default. `after`: the call takes effect, and its response is replaced.
   */
  readonly at?: "before" | "after";
  /** The number of attempts to affect; by default all until the rehearsal is stopped. */
  readonly times?: number;
}

/** An error of the service, or a fault of the network. */
export type Rehearsal<Operation extends keyof OperationConditions> = When<Operation> &
  (
    | {
        readonly error: OperationConditions[Operation];
        /** In seconds. */
        readonly retryAfter?: number;
        /** The key of an item of a batch. */
        readonly item?: string;
      }
    | { readonly fault: Exclude<Fault, "slow"> }
    | { readonly fault: "slow"; readonly ms: number }
  );

/**
 * Makes attempts of an operation fail as described by `rehearsal`. The client's application must allow rehearsal.
 *
 * @returns a function that stops the rehearsal
 * @throws ConfigurationError if `times` is not a positive integer
 */
export function rehearse<Operation extends keyof OperationConditions>(
  client: { intercept(interceptor: Interceptor): () => void },
  rehearsal: Rehearsal<Operation>,
): () => void {
  const { operation, times = Number.POSITIVE_INFINITY } = rehearsal;
  if (!(times > 0) || (times !== Number.POSITIVE_INFINITY && !Number.isInteger(times))) {
    throw new ConfigurationError("rehearse: times must be a positive integer.");
  }
  const header = headerOf(rehearsal);
  let left = times;
  return client.intercept({
    attempt(request, next) {
      if (request.operation.id === operation && left > 0) {
        left -= 1;
        request.headers.set("Rollcall-Rehearse", header);
      }
      return next();
    },
  });
}

type Member = "error" | "fault" | "at" | "retryAfter" | "ms" | "item";

/** A token with parameters (RFC 8941). */
function headerOf({ error, fault, at, retryAfter, ms, item }: Partial<Record<Member, unknown>>): string {
  const parameters = [
    at !== undefined && `at=${at}`,
    retryAfter !== undefined && `retry-after=${retryAfter}`,
    ms !== undefined && `ms=${ms}`,
    item !== undefined && `item="${item}"`,
  ];
  return [error ?? fault, ...parameters.filter(Boolean)].join(";");
}
