import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { AnsweredCall, RequestObserver } from "../http/request-observer.ts";
import { notOperations } from "../http/request-observer.ts";
import { durationBounds, Histogram } from "../lib/histogram.ts";
import { RateLimitExceeded } from "../operations/rate-limits.ts";
import type { ApplicationCounts } from "./application-counts.ts";

/** The results of the calls of one operation. */
interface OperationCounts {
  readonly byStatus: Map<number, number>;
  readonly seconds: Histogram;
}

/** The results of all requests since the process started. */
export interface RequestCounts {
  readonly operations: ReadonlyMap<string, OperationCounts>;
  readonly items: ReadonlyMap<string, ReadonlyMap<number, number>>;
  readonly errors: ReadonlyMap<string, number>;
  readonly limited: ReadonlyMap<string, number>;
  readonly rehearsed: number;
  readonly inFlight: number;
  readonly aborted: number;
  traffic(): { readonly connections: number; readonly received: number; readonly sent: number };
}

/** Counts requests by labels that the code defines. A label never contains a name that a client chooses. */
export function createRequestCounts(
  applications: ApplicationCounts,
): RequestCounts & { readonly observer: RequestObserver } {
  const operations = new Map<string, OperationCounts>();
  const items = new Map<string, Map<number, number>>();
  const errors = new Map<string, number>();
  const limited = new Map<string, number>();
  const open = new Set<Socket>();
  let received = 0; // over closed connections
  let sent = 0;
  let rehearsed = 0;
  let inFlight = 0;
  let aborted = 0;

  function disconnected(this: Socket): void {
    open.delete(this);
    received += this.bytesRead;
    sent += this.bytesWritten;
  }

  function ended(this: ServerResponse): void {
    inFlight -= 1;
    if (!this.writableFinished) aborted += 1;
  }

  function countFailure({ failure }: AnsweredCall): void {
    if (failure === undefined) return;
    add(errors, failure.condition);
    if (failure.condition !== "RateLimitExceeded") return;
    add(limited, failure instanceof RateLimitExceeded ? failure.quota.name : "sign-in");
  }

  return {
    operations,
    items,
    errors,
    limited,
    get rehearsed() {
      return rehearsed;
    },
    get inFlight() {
      return inFlight;
    },
    get aborted() {
      return aborted;
    },
    traffic() {
      const sums = { connections: open.size, received, sent };
      for (const socket of open) {
        sums.received += socket.bytesRead;
        sums.sent += socket.bytesWritten;
      }
      return sums;
    },
    observer: {
      connected(socket) {
        open.add(socket);
        socket.once("close", disconnected);
      },
      began(response) {
        inFlight += 1;
        response.on("close", ended);
      },
      streams(response) {
        response.off("close", ended);
        inFlight -= 1;
      },
      answered(call) {
        if (call.rehearsed !== undefined) {
          rehearsed += 1; // and in no other count, because alerts use the others
          return;
        }
        const { operation = notOperations.unknown, status, ms, caller } = call;
        let counts = operations.get(operation);
        if (counts === undefined) {
          counts = { byStatus: new Map(), seconds: new Histogram(durationBounds) };
          operations.set(operation, counts);
        }
        add(counts.byStatus, status);
        counts.seconds.observe(ms / 1_000);
        if (caller !== undefined && "applicationId" in caller) applications.count(caller.applicationId, status);
        countFailure(call);
      },
      answeredItem(call) {
        if (call.rehearsed !== undefined) {
          rehearsed += 1;
          return;
        }
        const { operation = notOperations.unknown, status } = call;
        let byStatus = items.get(operation);
        if (byStatus === undefined) {
          byStatus = new Map();
          items.set(operation, byStatus);
        }
        add(byStatus, status);
        countFailure(call);
      },
    },
  };
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
