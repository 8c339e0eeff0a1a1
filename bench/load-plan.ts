/** A request under load. In its body, `numberMark` is replaced by a new number each time. */
export interface RequestShape {
  readonly method: "GET" | "POST" | "PUT" | "PATCH";
  readonly path: string;
  /** Used in turn instead of `path`. For requests without a body. */
  readonly paths?: readonly string[];
  readonly token?: string;
  /** Further headers, such as the credentials of another product. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of the body; JSON by default. */
  readonly contentType?: string;
}

/** Stands for a number in a body; as wide as the numbers are. */
export const numberMark = "##########";
/** The different numbers that fit into it. */
export const numbersOfMark = 10 ** numberMark.length;

/** The task of a load generator. */
export interface LoadPlan {
  readonly port: number;
  readonly request: RequestShape;
  /** The status that every response must have. */
  readonly status: number;
  readonly connections: number;
  readonly seconds: number;
  /** Numbers count up from here (0), and restart at 0 when `numbersMax` is reached. */
  readonly firstNumber?: number;
  /** As many as have the digits of the mark, by default. */
  readonly numbersMax?: number | undefined;
  /**
   * Sends at this rate regardless of the responses (open loop); without it every response triggers the next request
   * (closed loop).
   */
  readonly ratePerSecond?: number;
}

/** The measurements of a load generator, without responses that came after the time was up. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Responses with another status, and broken connections. */
  readonly failures: number;
  readonly firstFailure?: string;
}
