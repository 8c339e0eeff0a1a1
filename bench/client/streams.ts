/** The clients of `bench/measure-events.ts`: thousands of streams in one process, over bare sockets. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createMessageReader, type StreamMessage } from "../../testkit/stream-messages.ts";
import { answerRequests } from "../../testkit/worker.ts";
import type { StreamOrder, StreamReport } from "./stream-plan.ts";

/** How many connections are opened at a time, as clients that start by themselves would. */
const opensAtOnce = 200;
const pollMs = 20;
const openMsMax = 300_000;
const refusedMs = 500;

let streams: BenchStream[] = [];
let latencies: number[] = [];
let refusals = 0;

/** A client that comes back with its cursor when its connection ends. */
class BenchStream {
  isReady = false;
  events = 0;
  readonly #port: number;
  readonly #token: string;
  #socket: Socket | undefined;
  #retryMs = 1_000;
  #lastId: string | undefined;
  #isClosed = false;
  #isAway = false;

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  open(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect({ host: "127.0.0.1", port: this.#port, noDelay: true });
    this.#socket = socket;
    // Lines of the response's head and of chunks are in none of the fields that are read.
    const read = createMessageReader((message) => this.#take(message, resolve));
    socket.setEncoding("utf8");
    let isAccepted = false;
    let waitMs = refusedMs;
    socket.on("data", (data) => {
      const text = `${data}`;
      isAccepted ||= text.startsWith("HTTP/1.1 200 ");
      if (isAccepted) return read(text);
      waitMs = Number(/\r\nretry-after: *(\d+)/i.exec(text)?.[1] ?? 0) * 1_000 || refusedMs;
      socket.destroy();
    });
    socket.on("connect", () => {
      const resume = this.#lastId === undefined ? "" : `Last-Event-ID: ${this.#lastId}\r\n`;
      socket.write(
        `GET /events/stream?types=checkin.* HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Service ${this.#token}\r\n${resume}\r\n`,
      );
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#isClosed || socket !== this.#socket) return;
      this.isReady = false;
      if (!isAccepted) refusals += 1;
      if (!this.#isAway) setTimeout(() => void this.open().then(resolve), isAccepted ? this.#retryMs : waitMs);
    });
    return promise;
  }

  #take({ event, id, data, retryMs }: StreamMessage, whenReady: () => void): void {
    this.#retryMs = retryMs ?? this.#retryMs;
    this.#lastId = id ?? this.#lastId;
    if (event === "ready") {
      this.isReady = true;
      whenReady();
    } else if (event === "" && data !== undefined) {
      this.events += 1;
      latencies.push(performance.timeOrigin + performance.now() - Number(/\d+/.exec(data.created)?.[0]));
    }
  }

  cut(): void {
    this.isReady = false;
    this.#socket?.destroy();
  }

  leave(): void {
    this.#isAway = true;
    this.cut();
  }

  return(): void {
    this.#isAway = false;
    setTimeout(() => void this.open(), this.#retryMs);
  }

  close(): void {
    this.#isClosed = true;
    this.cut();
  }
}

async function until(isReached: () => boolean, msMax: number): Promise<number> {
  const startedAt = performance.now();
  while (!isReached() && performance.now() - startedAt < msMax) await delay(pollMs);
  return performance.now() - startedAt;
}

function report(tookMs: number, isComplete: (stream: BenchStream) => boolean = () => true): StreamReport {
  return {
    ready: streams.filter(({ isReady }) => isReady).length,
    complete: streams.filter(isComplete).length,
    latencies: latencies.toSorted((a, b) => a - b),
    tookMs,
    refusals,
  };
}

async function open(port: number, tokens: readonly string[], perToken: number): Promise<void> {
  const waiting = tokens.flatMap((token) => Array.from({ length: perToken }, () => new BenchStream(port, token)));
  streams = [...streams, ...waiting];
  const opening = async () => {
    for (let stream = waiting.pop(); stream !== undefined; stream = waiting.pop()) await stream.open();
  };
  const all = Promise.all(Array.from({ length: opensAtOnce }, opening));
  await Promise.race([all, delay(openMsMax, undefined, { ref: false })]);
}

answerRequests<StreamOrder, StreamReport>(async (order) => {
  const startedAt = performance.now();
  switch (order.kind) {
    case "open":
      await open(order.port, order.tokens, order.perToken);
      return report(performance.now() - startedAt);
    case "reset":
      latencies = [];
      refusals = 0;
      for (const stream of streams) stream.events = 0;
      return report(0);
    case "received": {
      const isComplete = ({ events }: BenchStream) => events >= order.events;
      const tookMs = await until(() => streams.every(isComplete), order.msMax);
      return report(tookMs, isComplete);
    }
    case "cut": {
      for (const stream of streams) stream.cut();
      await until(() => streams.every(({ isReady }) => isReady), order.msMax);
      return report(performance.now() - startedAt);
    }
    case "leave":
      for (const stream of streams) stream.leave();
      return report(0);
    case "return": {
      const isBack = ({ isReady, events }: BenchStream) => isReady && events >= order.events;
      for (const stream of streams) stream.return();
      const tookMs = await until(() => streams.every(isBack), order.msMax);
      return report(tookMs, isBack);
    }
    case "close":
      for (const stream of streams) stream.close();
      streams = [];
      return report(0);
  }
});
