/** The arguments of the worker for the client's measurements. */
export interface ClientSetting {
  readonly url: string;
  readonly token: string;
  /** Of the GET. */
  readonly checkinId: string;
}

/** A round of calls. */
export interface ClientRound {
  readonly method: "GET" | "POST";
  readonly by: "client" | "fetch";
  readonly concurrency: number;
  readonly seconds: number;
}

export interface ClientRate {
  readonly perSecond: number;
  /** Processor time of the process that calls, per call. */
  readonly cpuMicros: number;
}
