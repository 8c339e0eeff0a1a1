/**
 * The load generator: HTTP/1.1 over plain sockets, one request at a time on each connection. A worker that answers a
 * `LoadPlan` with a `LoadResult`. At the end of the time it sends no more requests and waits for the outstanding
 * responses, so that the server is idle afterwards.
 */

import { createHistogram } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { answerRequests } from "../testkit/worker.ts";
import { type Answer, openConnection } from "./load-connection.ts";
import { type LoadPlan, type LoadResult, numberMark, numbersOfMark } from "./load-plan.ts";

const stragglersMs = 15_000;

answerRequests(run);

async function run(plan: LoadPlan): Promise<LoadResult> {
  const latencies = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 }); // microseconds
  let requests = 0;
  let failures = 0;
  let firstFailure: string | undefined;
  let endsAt = Number.POSITIVE_INFINITY;

  function record(sentAt: number, answer: Answer): void {
    const now = performance.now();
    if (answer.status !== plan.status) {
      failures += 1;
      firstFailure ??= `${answer.status || "broken connection"} ${answer.excerpt}`;
    }
    if (now > endsAt) return;
    requests += 1;
    latencies.record(Math.max(1, Math.round((now - sentAt) * 1000)));
  }

  const connections = await Promise.all(Array.from({ length: plan.connections }, () => openConnection(plan.port)));
  const nextRequest = createRequests(plan);
  const startedAt = performance.now();
  endsAt = startedAt + plan.seconds * 1000;

  async function sendBackToBack(connection: (typeof connections)[number]): Promise<void> {
    while (!connection.isBroken && performance.now() < endsAt) {
      const sentAt = performance.now();
      record(sentAt, await connection.send(nextRequest()));
    }
  }

  /** A request that finds no idle connection waits, and its latency counts from the time when it was due. */
  async function sendAtRate(ratePerSecond: number): Promise<void> {
    const idle = [...connections];
    const waiting: number[] = [];
    const underWay = new Set<Promise<void>>();

    async function sendOn(connection: (typeof connections)[number], since: number): Promise<void> {
      for (let sentAt: number | undefined = since; sentAt !== undefined; sentAt = waiting.shift()) {
        record(sentAt, await connection.send(nextRequest()));
      }
      idle.push(connection);
    }
    for (let dueAt = startedAt; dueAt < endsAt; dueAt += 1000 / ratePerSecond) {
      const early = dueAt - performance.now();
      if (early > 0) await delay(early);
      const connection = idle.shift();
      if (connection === undefined) waiting.push(dueAt);
      else {
        const sending = sendOn(connection, performance.now()).finally(() => underWay.delete(sending));
        underWay.add(sending);
      }
    }
    await Promise.all(underWay);
  }

  const work =
    plan.ratePerSecond === undefined ? Promise.all(connections.map(sendBackToBack)) : sendAtRate(plan.ratePerSecond);
  const patience = new AbortController();
  const impatience = delay(plan.seconds * 1000 + stragglersMs, "late", { signal: patience.signal });
  impatience.catch(() => {}); // all responses were in time
  if ((await Promise.race([work, impatience])) === "late") {
    failures += 1;
    firstFailure ??= "no response in time";
  }
  patience.abort();
  for (const connection of connections) connection.close();
  return {
    requests,
    perSecond: requests / plan.seconds,
    p50Ms: latencies.percentile(50) / 1000,
    p99Ms: latencies.percentile(99) / 1000,
    failures,
    ...(firstFailure !== undefined && { firstFailure }),
  };
}

/** The bytes of one request after the other. */
function createRequests(plan: LoadPlan): () => string {
  const { request, firstNumber = 0, numbersMax = numbersOfMark } = plan;
  const { method, path, paths, token, headers = {}, body, contentType = "application/json" } = request;
  if (paths !== undefined) {
    const requests = paths.map((each) =>
      createRequests({ ...plan, request: { method, path: each, ...(token && { token }) } })(),
    );
    let place = 0;
    return () => requests[place++ % requests.length] ?? "";
  }
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    ...(token === undefined ? [] : [`Authorization: Service ${token}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Type: ${contentType}`, `Content-Length: ${Buffer.byteLength(body)}`]),
  ].join("\r\n");
  const whole = `${head}\r\n\r\n${body ?? ""}`;
  const [before = "", after] = whole.split(numberMark);
  if (after === undefined) return () => whole;
  let number = firstNumber;
  return () => {
    const digits = String(number).padStart(numberMark.length, "0");
    number = (number + 1) % numbersMax;
    return before + digits + after;
  };
}
