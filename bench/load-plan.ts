/** One kind of request. In the body, `numberMark` becomes another number each time. */
export interface RequestShape {
  readonly method: "GET" | "POST" | "PUT" | "PATCH";
  readonly path: string;
  /** In turn, in place of `path`. For requests without a body. */
  readonly paths?: readonly string[];
  readonly token?: string;
  readonly body?: string;
  /** Of the body; JSON when not told. */
  readonly contentType?: string;
}

/** Stands for a number in a body; as wide as the numbers are. */
export const numberMark = "##########";

/** What a load generator is to do. */
export interface LoadPlan {
  readonly port: number;
  readonly request: RequestShape;
  /** The status that every answer must have. */
  readonly status: number;
  readonly connections: number;
  readonly seconds: number;
  /** Numbers count up from here, and begin again at 0 when `numbersMax` is reached. */
  readonly firstNumber: number;
  readonly numbersMax: number;
  /** Sends at this rate whatever the answers do (open loop); without it every answer makes the next request. */
  readonly ratePerSecond?: number;
}

/** What a load generator saw. Answers that came after the time was up are not in it. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers with another status, and connections that broke. */
  readonly failures: number;
  readonly firstFailure?: string;
}
