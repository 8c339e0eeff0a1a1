import type { ClientRequest, IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { createMessageReader, type StreamMessage } from "../testkit/stream-messages.ts";
import { Failure } from "./failure.ts";
import { hideSecrets, shorten } from "./shown-text.ts";

/** A stream of events that a check reads. The check closes it. */
export interface OpenStream {
  /** As a report shows it. */
  readonly request: string;
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** All messages until now. */
  readonly text: string;
  /** The id that a client would send when it connects again. */
  readonly lastId: string | undefined;
  /** The messages up to the first that fits, which is the last. @throws Failure when it does not come */
  until(what: string, fits: (message: StreamMessage) => boolean, msMax?: number): Promise<StreamMessage[]>;
  /** Resolves when the server has ended the stream. @throws Failure when it does not */
  ended(msMax?: number): Promise<void>;
  close(): void;
}

const messageMsMax = 20_000;
const pollMs = 10;

/** @param request as a report shows it */
export function readStream(request: string, outgoing: ClientRequest, incoming: IncomingMessage): OpenStream {
  const waiting: StreamMessage[] = [];
  let text = "";
  let lastId: string | undefined;
  let isEnded = false;
  const read = createMessageReader((message) => {
    lastId = message.id ?? lastId;
    waiting.push(message);
  });
  const end = () => {
    isEnded = true;
  };
  incoming.setEncoding("utf8");
  incoming.on("data", (part: string) => {
    text += part;
    read(part);
  });
  incoming.on("close", end).on("error", end);

  async function waitFor(what: string, isThere: () => boolean, msMax: number): Promise<void> {
    const endsAt = performance.now() + msMax;
    while (!isThere()) {
      if (isEnded || performance.now() > endsAt) {
        const received = shorten(hideSecrets(text.slice(-1_000), []), 1_000) || "(nothing)";
        throw new Failure({ request }, `${what} within ${msMax} ms`, `${received}${isEnded ? " and the end" : ""}`);
      }
      await delay(pollMs);
    }
  }

  return {
    request,
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    get text() {
      return text;
    },
    get lastId() {
      return lastId;
    },
    async until(what, fits, msMax = messageMsMax) {
      const read: StreamMessage[] = [];
      await waitFor(
        what,
        () => {
          while (waiting.length > 0) {
            const message = waiting.shift() as StreamMessage; // there, as its length says
            read.push(message);
            if (fits(message)) return true;
          }
          return false;
        },
        msMax,
      );
      return read;
    },
    ended: (msMax = messageMsMax) => waitFor("the end of the stream", () => isEnded, msMax),
    close: () => void outgoing.destroy(),
  };
}
