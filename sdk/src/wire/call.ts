/** The description of an operation of the service. */
export interface Operation {
  /** The `operationId` of the OpenAPI document. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its parameters in braces, such as `/checkins/{checkinId}`. */
  readonly route: string;
  /** `device`: a device token suffices. `user`: a user token is required. `anyone`: no token is required. */
  readonly caller: "anyone" | "device" | "user" | "operator";
  /** Whether the service stores the response under an `Idempotency-Key`. */
  readonly isIdempotent: boolean;
  /** Whether a repeat without a key is harmless. */
  readonly isRepeatable?: boolean;
  /** Whether its parameter `data` is a file. */
  readonly hasFile?: boolean;
  /** Whether its result is the bytes of a file. */
  readonly isDownload?: boolean;
  /** Whether it can be an item of a batch. */
  readonly isBatchable: boolean;
}

/** Values by parameter name, as the app passed them: dates, places and ranges are encoded when the call is sent. */
export type Parameters = Readonly<Record<string, unknown>>;

declare const result: unique symbol;

/** A description of one call of the service: frozen, plain data. No request is sent until the call is. */
export interface Call<T> {
  readonly operation: Operation;
  /** The path with its parameters filled in and escaped. */
  readonly path: string;
  readonly parameters?: Parameters;
  /** The type of the result; the member does not exist at run time. */
  readonly [result]?: T;
}

/** A call that can be an item of a batch. */
export interface BatchableCall<T> extends Call<T> {
  readonly operation: Operation & { readonly isBatchable: true };
}

/** A call with any result. */
export type AnyCall = Call<unknown>;
