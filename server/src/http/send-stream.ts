import type { ServerResponse } from "node:http";
import type { StreamResult, StreamSink } from "../contract/stream-result.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Sends the head of a response that stays open, and hands over its body. The body ends with the connection, so that the
 * same bytes go to every client, without the framing of chunks.
 *
 * @throws ApiError
 */
export function sendStream(exchange: Exchange, stream: StreamResult): void {
  const { response } = exchange;
  const headers = { ...stream.headers, connection: "close" };
  if (exchange.method === "HEAD") {
    exchange.setHeaders(headers);
    exchange.send(200);
    return;
  }
  const begin = stream.open();
  exchange.setHeaders(headers);
  response.useChunkedEncodingByDefault = false;
  exchange.writeHead(200);
  exchange.isStreaming = true;
  begin(new ResponseSink(response));
}

class ResponseSink implements StreamSink {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get waitingBytes(): number {
    return this.#response.writableLength;
  }

  write(bytes: Uint8Array): void {
    this.#response.write(bytes);
  }

  end(bytes: Uint8Array): void {
    this.#response.end(bytes);
  }

  cut(): void {
    this.#response.destroy();
  }

  onDrain(listener: () => void): void {
    this.#response.once("drain", listener);
  }

  onClose(listener: () => void): void {
    this.#response.once("close", listener);
  }
}
