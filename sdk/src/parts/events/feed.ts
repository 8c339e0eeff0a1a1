import { listEvents, streamEvents } from "../../generated/calls.ts";
import type { Event } from "../../generated/types.ts";
import type { Send } from "../../nouns/send.ts";
import { decodeResult } from "../../transport/decode.ts";
import { ConnectionError, RollcallError, ServiceError, TimeoutError, UnexpectedAnswer } from "../../wire/errors.ts";
import { type EventFilter, keyOf, queryOf, unionOf } from "./filters.ts";
import { readMessages, type StreamMessage } from "./messages.ts";

/** The reason why the events after a cursor are no longer available; a poll does not report it. */
export type ResetReason = "expired" | "log" | "cursor" | "unknown";

/** The reports of a feed, in the order of the log. */
export type FeedMessage =
  /** All events of these filters follow from the cursor on. */
  | {
      readonly kind: "ready";
      readonly cursor: string;
      readonly keys: readonly string[];
      /** Whether only events of the only filter follow. */
      readonly isExact: boolean;
      /** The events in between are no longer available. */
      readonly reset?: ResetReason | undefined;
    }
  /** With the cursor from which events can be read again. */
  | { readonly kind: "event"; readonly cursor: string; readonly event: Event }
  /** No other event occurred up to the cursor. */
  | { readonly kind: "cursor"; readonly cursor: string };

export interface FeedOptions {
  readonly send: Send;
  /** The current filters. */
  readonly filters: () => readonly EventFilter[];
  /** The cursor to continue from; undefined for the present. */
  readonly cursor: string | undefined;
  readonly onMessage: (message: FeedMessage) => void;
}

/** One connection for all subscriptions: a stream, or calls that wait where streams do not pass. */
export interface Feed {
  /** Rejects with an error that retries cannot fix; resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Connects again, because the filters have changed. */
  refresh(): void;
  stop(): void;
}

const readyMsMax = 10_000;
const pollMs = 1_800_000;
const waitSeconds = 25;
const backoffMs = 1_000;
const backoffMsMax = 30_000;
/** The number of times a stream that has worked before may fail to begin. */
const failuresMax = 3;
/** The number of streams in succession that may begin and bring nothing more, not even a heartbeat. */
const silencesMax = 2;

export function openFeed({ send, filters, cursor, onMessage }: FeedOptions): Feed {
  let connection = new AbortController();
  let isStopped = false;
  /** Until then calls wait instead of a stream. */
  let pollUntil = 0;
  let hasStreamed = false;
  let failures = 0;
  let silences = 0;
  let retryMs = backoffMs;

  async function stream(wanted: readonly EventFilter[], { signal }: AbortController): Promise<void> {
    const filter = unionOf(wanted);
    const asked = cursor;
    const late = new AbortController();
    const abort = () => late.abort();
    signal.addEventListener("abort", abort);
    const timer = setTimeout(abort, readyMsMax);
    let isReady = false;

    const becomeReady = (reset?: ResetReason) => {
      clearTimeout(timer);
      isReady = true;
      hasStreamed = true;
      failures = 0;
      onMessage({ kind: "ready", cursor: cursor ?? "", keys: wanted.map(keyOf), isExact: wanted.length === 1, reset });
    };

    function take({ id, name, data, retryMs: asked }: StreamMessage): void {
      if (signal.aborted) return;
      retryMs = asked ?? retryMs;
      if (name === "ready") {
        const { isResumed } = JSON.parse(data);
        if (isResumed === true) becomeReady();
        else {
          const isFirst = cursor === undefined;
          cursor = id;
          if (isFirst) becomeReady();
        }
      } else if (name === "reset") {
        cursor = id;
        becomeReady(JSON.parse(data).reason);
      } else if (name === "" && id !== "") {
        cursor = id;
        silences = 0;
        // The type is that of the result of GET /events.
        const event = data && (decodeResult(JSON.parse(data)) as Event);
        onMessage(event ? { kind: "event", cursor, event } : { kind: "cursor", cursor });
      }
    }

    try {
      const headers = asked === undefined ? {} : { "Last-Event-ID": asked };
      const opened = await send(streamEvents(queryOf(filter)), { signal: late.signal, retry: false, headers });
      await readMessages(opened.stream(), take);
      if (!isReady) throw new TypeError("the stream has ended before it began");
    } catch (cause) {
      const isLate = late.signal.aborted && !signal.aborted;
      const error = isLate ? new TypeError("the stream does not begin") : cause;
      if (signal.aborted) throw error;
      if (!isReady) noteUnready(error);
      else if (error instanceof TimeoutError) noteSilence();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  /** Decides whether streams work here: proxies hold them back, older servers have none, and apps can disable them. */
  function noteUnready(error: unknown): void {
    failures += 1;
    const isRefused =
      error instanceof ServiceError && (error.is("OperationNotFound") || error.is("AuthAPICallDisabledByDeveloper"));
    const isAnswered = error instanceof ServiceError && !isRefused;
    const isPatient = hasStreamed || error instanceof ConnectionError;
    if (isRefused || (!isAnswered && failures >= (isPatient ? failuresMax : 1))) pollUntil = Date.now() + pollMs;
  }

  /** A proxy that passes the beginning of a stream may hold back the rest. */
  function noteSilence(): void {
    silences += 1;
    if (silences < silencesMax) return;
    silences = 0;
    pollUntil = Date.now() + pollMs;
  }

  async function poll(wanted: readonly EventFilter[], { signal }: AbortController): Promise<void> {
    const query = queryOf(unionOf(wanted));
    let isReady = false;
    while (Date.now() < pollUntil) {
      const wait = isReady ? waitSeconds : 0;
      const page = await send(listEvents({ ...query, after: cursor, waitSeconds: wait }), { signal, retry: false });
      if (signal.aborted) return;
      const { pageResults, currentToken, isReset } = page;
      const from = isReset === true ? currentToken : (cursor ?? currentToken);
      failures = 0;
      if (!isReady || isReset) {
        const reset = isReset ? ("unknown" as const) : undefined;
        onMessage({ kind: "ready", cursor: from, keys: wanted.map(keyOf), isExact: wanted.length === 1, reset });
      }
      isReady = true;
      cursor = currentToken;
      // A page names no cursors between its events.
      pageResults.forEach((event, index) => {
        const isLast = index === pageResults.length - 1;
        onMessage({ kind: "event", cursor: isLast ? currentToken : from, event });
      });
      if (pageResults.length === 0) onMessage({ kind: "cursor", cursor });
    }
  }

  /**
   * The time to wait before the next connection.
   * @throws an error that retries cannot fix
   */
  function delayAfter(error: unknown): number {
    if (error instanceof RollcallError) {
      if (!error.isRetryable && !(error instanceof UnexpectedAnswer)) throw error;
      if (error.retryAfterMs !== undefined) return error.retryAfterMs * (1 + Math.random() / 10);
    }
    return Math.random() * Math.min(backoffMsMax, Math.max(retryMs, backoffMs * 2 ** failures));
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      connection = new AbortController();
      const { signal } = connection;
      const isPolling = Date.now() < pollUntil;
      let waitMs = 0;
      try {
        await (isPolling ? poll : stream)(filters(), connection);
        waitMs = isPolling ? 0 : retryMs; // a different time for each client
      } catch (error) {
        if (isStopped || signal.aborted) continue;
        const isSwitched = !isPolling && Date.now() < pollUntil;
        if (isPolling) failures += 1;
        // Where calls do not pass either, the failures of streams have another reason.
        if (isPolling && (error instanceof ConnectionError || error instanceof TimeoutError)) pollUntil = 0;
        waitMs = isSwitched ? 0 : delayAfter(error);
      }
      await pause(waitMs, signal);
    }
  }

  return {
    ended: run(),
    refresh: () => connection.abort(),
    stop() {
      isStopped = true;
      connection.abort();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0 || signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
