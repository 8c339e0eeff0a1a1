import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ApiError } from "../errors.ts";
import type { AnyCaller } from "./route.ts";

/** A call that has been answered. */
export interface AnsweredCall {
  /** Its name, or what it is in the place of an operation. */
  readonly operation: string | undefined;
  readonly status: number;
  readonly ms: number;
  readonly caller: AnyCaller | undefined;
  readonly failure: ApiError | undefined;
}

/** Is told of connections and requests, to count them. It runs for each of them, so it has to be cheap. */
export interface RequestObserver {
  connected(socket: Socket): void;
  began(response: ServerResponse): void;
  answered(call: AnsweredCall): void;
  /** One call of a batch, which is answered as a whole besides. */
  answeredItem(call: AnsweredCall): void;
}

/** What is called where no operation is: a bounded number of names, whatever paths somebody thinks up. */
export const notOperations = {
  /** No such path, or not by this verb. */
  unknown: "(unknown)",
  /** The browser asks what it may send. */
  preflight: "(preflight)",
  /** The documentation. */
  page: "(page)",
  /** What never became a request. */
  broken: "(broken)",
} as const;
