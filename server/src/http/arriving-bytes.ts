import type { IncomingMessage } from "node:http";
import type { ArrivingBytes } from "../contract/endpoint.ts";
import { noteDiscarded } from "./memory-relief.ts";
import { beginUploading } from "./upload.ts";

/** Receives a body that may exceed the request time-out as long as it makes progress. */
export function receiveBytes(request: IncomingMessage, stalledMs: number): ArrivingBytes {
  const endUploading = beginUploading(request.socket);
  let isStopped = false;
  let isWaiting = false;
  let wake = () => {};
  function stop(): void {
    isStopped = true;
    wake();
  }
  // Stops the body only while it waits for the client: a slow store is not the client's fault.
  const stall = setTimeout(() => {
    if (isWaiting) stop();
  }, stalledMs);
  const events = ["readable", "end", "close"] as const;
  const onEvent = () => wake();
  for (const event of events) request.on(event, onEvent);
  request.on("error", onEvent); // never removed, because an error may come after the last read

  async function* read(): AsyncGenerator<Uint8Array> {
    while (!isStopped) {
      const chunk: Buffer | null = request.read();
      if (chunk !== null) {
        noteDiscarded(chunk.length);
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
