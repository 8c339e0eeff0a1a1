import type { IncomingMessage } from "node:http";
import { beginUploading } from "./upload.ts";

/** The body of a request while it arrives, which may break off. */
export interface ArrivingBytes {
  /**
   * To be read once. They end when the body does, when its connection breaks, when nothing arrives for too long, and when
   * `stop` is called; they never throw.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Whether all of the body has been read. */
  isWhole(): boolean;
  isConnected(): boolean;
  stop(): void;
  /** The request is done with: ordinary time-outs hold for its connection again. */
  end(): void;
}

/** Takes in a body that may take longer than other requests, as long as it goes on. */
export function arrivingBytes(request: IncomingMessage, stalledMs: number): ArrivingBytes {
  const endUploading = beginUploading(request.socket);
  let isStopped = false;
  let isWaiting = false;
  let wake = () => {};
  function stop(): void {
    isStopped = true;
    wake();
  }
  // Counts only while we wait: a store that is slow is no fault of the sender.
  const stall = setTimeout(() => {
    if (isWaiting) stop();
  }, stalledMs);
  const events = ["readable", "end", "close"] as const;
  const onEvent = () => wake();
  for (const event of events) request.on(event, onEvent);
  request.on("error", onEvent); // stays: it may come when nobody reads any more

  async function* read(): AsyncGenerator<Uint8Array> {
    while (!isStopped) {
      const chunk: Buffer | null = request.read();
      if (chunk !== null) {
        yield chunk;
      } else if (request.readableEnded || request.destroyed) {
        return;
      } else {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        isWaiting = true;
        stall.refresh();
        await woken;
        isWaiting = false;
      }
    }
  }

  return {
    chunks: read(),
    isWhole: () => request.readableEnded && request.complete,
    isConnected: () => !request.socket.destroyed,
    stop,
    end() {
      clearTimeout(stall);
      for (const event of events) request.off(event, onEvent);
      endUploading();
    },
  };
}
