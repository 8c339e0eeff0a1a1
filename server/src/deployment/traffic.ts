import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { RequestObserver } from "../http/request-observer.ts";
import type { Clock } from "../lib/clock.ts";

/** Counts the connections and requests of this process. */
export interface Traffic {
  readonly connections: number;
  /** Requests in flight. */
  readonly requests: number;
  /** When another machine last called without https. */
  readonly clearAt: number | undefined;
  readonly observer: Pick<RequestObserver, "connected" | "began" | "streams">;
  noteClear(): void;
}

export function createTraffic({ clock }: { readonly clock: Clock }): Traffic {
  let connections = 0;
  let requests = 0;
  let clearAt: number | undefined;
  const disconnected = () => {
    connections -= 1;
  };
  const ended = () => {
    requests -= 1;
  };
  return {
    get connections() {
      return connections;
    },
    get requests() {
      return requests;
    },
    get clearAt() {
      return clearAt;
    },
    observer: {
      connected(socket: Socket) {
        connections += 1;
        socket.once("close", disconnected);
      },
      began(response: ServerResponse) {
        requests += 1;
        response.on("close", ended);
      },
      streams(response: ServerResponse) {
        response.off("close", ended);
        ended();
      },
    },
    noteClear() {
      clearAt = clock.now();
    },
  };
}
