import { Readable } from "node:stream";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError, type ErrorCondition, errorCatalogue } from "../lib/errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import { writeJson } from "../lib/json.ts";
import { createExchanges, messageBytesMax, SocketClosed } from "./regions.exchange.ts";
import { digestOf, streamed } from "./regions.signatures.ts";

/** Calls other regions. An unreachable region, or one without a valid signature, results in ServiceUnavailable. */
export interface RegionCalls {
  /**
   * @param message is sent as JSON
   * @returns the answer of the other region
   * @throws ApiError as thrown by the other region; ServiceUnavailable, RequestTooLarge
   */
  call(region: string, name: string, message: unknown): Promise<unknown>;
  /**
   * Like `call`, with a stream in place of a message, which may take any time while bytes flow. The bytes are not
   * signed, so the answer must identify the received bytes.
   *
   * @param subject the application that the bytes belong to
   * @throws errors of the stream as well
   */
  send(region: string, name: string, subject: string, bytes: AsyncIterable<Uint8Array>): Promise<unknown>;
  /** Lists the regions whose last call failed, if that was after the given time. */
  unreachableSince(after: number): string[];
  close(): void;
}

type Settings = Pick<Config, "region" | "regions" | "regionSecrets" | "regionTimeoutMs">;

/** Limits how long a stream may stall, and how long its answer may take. */
const silentMsMax = 600_000;
/** Per region. */
const waitingMax = 1_000;
/** A region is not called again for this time after a failure. */
const backoffMs = 1_000;

export function createRegionCalls(
  settings: Settings,
  services: { readonly clock: Clock; readonly log: Log },
): RegionCalls {
  const { regionTimeoutMs } = settings;
  const { clock, log } = services;
  const exchanges = createExchanges(settings, clock);
  /** The end of the backoff of each region that was unreachable. */
  const backoffs = new Map<string, number>();
  /** When the last call of a region failed. */
  const failures = new Map<string, number>();
  /** The number of pending calls of each region. */
  const waiting = new Map<string, number>();

  /** @throws ApiError ServiceUnavailable if the region is unreachable, or cannot prove its identity */
  async function ask(region: string, work: () => Promise<unknown>): Promise<unknown> {
    const count = waiting.get(region) ?? 0;
    if ((backoffs.get(region) ?? 0) > performance.now() || count >= waitingMax) throw unavailable(region);
    waiting.set(region, count + 1);
    try {
      const answer = await work();
      failures.delete(region);
      return answer;
    } catch (err) {
      failures.set(region, clock.now());
      log.warn({ err, region }, "a region is out of reach");
      backoffs.set(region, performance.now() + backoffMs);
      throw unavailable(region, err);
    } finally {
      waiting.set(region, (waiting.get(region) ?? 1) - 1);
    }
  }

  return {
    async call(region, name, message) {
      const body = bodyOf(message);
      const once = () =>
        exchanges.run({ name, to: region, digest: digestOf(body) }, body, AbortSignal.timeout(regionTimeoutMs));
      // The other region may have closed a persistent connection.
      const answer = await ask(region, () =>
        once().catch((error) => {
          if (error instanceof SocketClosed) return once();
          throw error;
        }),
      );
      return resultOf(answer);
    },

    async send(region, name, subject, bytes) {
      const stalled = new AbortController();
      const timer = setTimeout(() => stalled.abort(new Error("The transfer has stalled")), silentMsMax);
      let failure: { readonly error: unknown } | undefined;
      async function* watched() {
        try {
          for await (const chunk of bytes) {
            timer.refresh();
            yield chunk;
          }
        } catch (error) {
          failure = { error };
          throw error;
        }
      }
      const body = Readable.from(watched(), { objectMode: false });
      try {
        const head = { name, to: region, digest: `${streamed}${subject}` };
        return resultOf(await ask(region, () => exchanges.run(head, body, stalled.signal)));
      } catch (error) {
        throw failure === undefined ? error : failure.error;
      } finally {
        clearTimeout(timer);
        body.destroy();
      }
    },

    unreachableSince: (after) => [...failures].filter(([, at]) => at > after).map(([region]) => region),
    close: exchanges.close,
  };
}

function unavailable(region: string, cause?: unknown): ApiError {
  return new ApiError("ServiceUnavailable", `The region ${region} cannot be reached. Try again.`, { cause });
}

function bodyOf(message: unknown): Buffer {
  const written = writeJson(message);
  if ("problem" in written) throw new ApiError("ParameterOutOfRange");
  const body = Buffer.from(written.value, "utf8");
  if (body.length > messageBytesMax) throw new ApiError("RequestTooLarge");
  return body;
}

/** The answer of a region: a result, or a refusal. */
export type RegionAnswer =
  | { readonly result: unknown }
  | {
      readonly refused: {
        readonly condition: string;
        readonly message: string;
        readonly retryAfterSeconds?: number;
        readonly parameter?: string;
      };
    };

function resultOf(answer: unknown): unknown {
  // A region signed it, at worst one of another version.
  const { result, refused } = answer as Record<"result" | "refused", unknown>;
  if (refused === undefined) return result;
  const { condition, message, retryAfterSeconds, parameter } = fieldsOf(refused); // as `answer`
  throw new ApiError(
    isCondition(condition) ? condition : "ServiceUnavailable",
    typeof message === "string" ? message : undefined,
    {
      retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
      parameter: typeof parameter === "string" ? parameter : undefined,
    },
  );
}

function isCondition(text: unknown): text is ErrorCondition {
  return typeof text === "string" && Object.hasOwn(errorCatalogue, text);
}
