import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../config/config.ts";
import { createLog, type Log } from "../config/log.ts";
import { workerVariable } from "../config/worker-number.ts";
import { onStop } from "../lib/stop-signals.ts";
import type { ToSupervisor, ToWorker } from "./worker.ts";

/** The slot of a worker, in which it is replaced after an exit. */
interface WorkerSlot {
  readonly number: number;
  worker: Worker | undefined;
  isListening: boolean;
  /** The number of consecutive exits shortly after a start. */
  quickExits: number;
}

const restartMsMin = 100;
const restartMsMax = 10_000;
/** A worker that has run this long did not fail at its start. */
const longLifeMs = 60_000;
/**
 * The time for background work and the last writes, in addition to the grace period of requests, before a worker is
 * killed.
 */
const exitMsMax = 15_000;

/**
 * Serves with several processes on this machine until SIGTERM or SIGINT. The supervisor serves no requests: it starts
 * the workers, replaces workers that exit, and exits after them. Resolves when all workers listen, or the start has
 * failed.
 *
 * The first worker starts before the others, because it creates the tables and files of a new deployment; if it fails,
 * the others would fail too.
 */
export async function supervise(config: Config, fallbacks: FallbackAnswers = {}): Promise<void> {
  const log = createLog(config.logLevel);
  const port = await findPort(config);
  const slots: WorkerSlot[] = Array.from({ length: config.workers }, (_, index) => ({
    number: index + 1,
    worker: undefined,
    isListening: false,
    quickExits: 0,
  }));
  const ipcRequests = createIpcRequests(() => listening().flatMap(({ worker }) => worker ?? []), fallbacks);
  let isStarted = false;
  let isStopping = false;

  function listening(): WorkerSlot[] {
    return slots.filter((slot) => slot.isListening);
  }

  /** Resolves when the worker listens or has exited. */
  function start(slot: WorkerSlot): Promise<void> {
    const worker = cluster.fork({ [workerVariable]: slot.number, PORT: port });
    const startedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    slot.worker = worker;
    worker.on("message", (message: ToSupervisor) => {
      if (message.kind === "listening") {
        slot.isListening = true;
        resolve();
      } else {
        ipcRequests.take(message, worker);
      }
    });
    worker.on("error", () => {}); // an error of the IPC channel: the worker is exiting
    worker.once("exit", (code, signal) => {
      slot.worker = undefined;
      slot.isListening = false;
      ipcRequests.forget(worker);
      resolve();
      if (!isStarted || isStopping) return;
      slot.quickExits = performance.now() - startedAt > longLifeMs ? 0 : slot.quickExits + 1;
      const restartMs = Math.min(restartMsMin * 2 ** slot.quickExits, restartMsMax);
      log.error({ worker: slot.number, code, signal, restart_ms: restartMs }, "a worker exited and will be restarted");
      setTimeout(() => {
        if (!isStopping) start(slot);
      }, restartMs);
    });
    return promise;
  }

  /** @returns whether all workers exited without being killed */
  async function stopAll(): Promise<boolean> {
    isStopping = true;
    const stopped = slots.map(({ worker, isListening }) => worker && stopWorker(worker, isListening, config));
    return (await Promise.all(stopped)).every((isClean) => isClean !== false);
  }

  async function stop(signal: string): Promise<void> {
    if (isStopping) return;
    log.info({ signal }, "shutting down the workers");
    exit(log, (await stopAll()) ? 0 : 1);
  }
  onStop(stop);
  if (config.tls !== undefined) {
    process.on("SIGHUP", () => {
      for (const { worker } of listening()) worker?.process.kill("SIGHUP");
    });
  }

  const [first, ...others] = slots;
  if (first !== undefined) await start(first);
  if (first?.isListening === true) await Promise.all(others.map(start));
  isStarted = true;
  if (isStopping || listening().length === slots.length) return;
  await stopAll(); // the worker that failed has logged the reason
  exit(log, 1);
}

/** @returns false if the worker had to be killed, or exited with an error */
async function stopWorker(worker: Worker, isListening: boolean, config: Config): Promise<boolean> {
  const exited = once(worker, "exit");
  // A worker that is starting does not read messages yet, but a signal stops it.
  if (isListening) sendToWorker(worker, { kind: "stop" });
  else worker.process.kill("SIGTERM");
  const timer = setTimeout(() => worker.process.kill("SIGKILL"), config.shutdownGraceMs + exitMsMax);
  const [code] = await exited;
  clearTimeout(timer);
  return code === 0 || !isListening;
}

function exit(log: Log, code: number): void {
  log.flush(() => process.exit(code));
}

/**
 * Finds the port for all workers. Listening on it fails if another server uses the port, which the workers could
 * otherwise share by mistake.
 */
async function findPort({ host, port }: Config): Promise<number> {
  const probe = createServer().listen(port, host);
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : port;
}

/** The supervisor's side of IPC requests: sends a question to all workers, and collects their answers. */
interface IpcRequests {
  /**
   * @returns the answers that arrive within `timeoutMs`, and for each silent worker the value of `FallbackAnswers`;
   * workers without an answerer are omitted
   */
  ask(question: string, timeoutMs: number): Promise<readonly unknown[]>;
  /** Handles the `ask` and `answer` messages of a worker. */
  take(message: ToSupervisor, from: Worker): Promise<void>;
  /** Stops waiting for the answers of a worker that has exited. */
  forget(worker: Worker): void;
}

/**
 * For each question, computes the value for workers that do not answer, from the last answer of the worker and the
 * value so far of the workers that have exited. Other questions have no such value.
 */
type FallbackAnswers = Readonly<Record<string, (exited: unknown, last: unknown) => unknown>>;

interface Asked {
  readonly question: string;
  readonly answers: unknown[];
  /** The workers that have not answered. */
  readonly pending: Set<Worker>;
  /** The previous answers of the workers that have not answered. */
  readonly before: Map<Worker, unknown>;
  end(): void;
}

/** @param workers returns the current workers */
function createIpcRequests(workers: () => readonly Worker[], fallbacks: FallbackAnswers = {}): IpcRequests {
  const open = new Map<number, Asked>();
  /** The last answer of each worker, by question. */
  const last = new Map<string, Map<Worker, unknown>>(Object.keys(fallbacks).map((question) => [question, new Map()]));
  /** The value of the workers that have exited, by question. */
  const exited = new Map<string, unknown>();
  let count = 0;

  function ask(question: string, timeoutMs: number): Promise<readonly unknown[]> {
    const asked = workers();
    count += 1;
    const id = count;
    return new Promise((resolve) => {
      const answers: unknown[] = [];
      const before = new Map(last.get(question));
      // A snapshot, so that a worker that answers and then exits is not counted twice.
      const gone = exited.has(question) ? [exited.get(question)] : [];
      function end(): void {
        clearTimeout(timer);
        open.delete(id);
        const silent = [...before.values()].map((answer) => fallbacks[question]?.(undefined, answer));
        resolve([...answers, ...silent, ...gone]);
      }
      const timer = setTimeout(end, timeoutMs);
      open.set(id, { question, answers, pending: new Set(asked), before, end });
      for (const worker of asked) sendToWorker(worker, { kind: "question", id, question });
      if (asked.length === 0) end();
    });
  }

  function stopWaiting(asked: Asked, worker: Worker): void {
    if (asked.pending.delete(worker) && asked.pending.size === 0) asked.end();
  }

  return {
    ask,
    async take(message, from) {
      if (message.kind === "answer") {
        const asked = open.get(message.id);
        if (asked === undefined) return; // too late
        asked.before.delete(from);
        if (message.answer !== null) {
          asked.answers.push(message.answer);
          last.get(asked.question)?.set(from, message.answer);
        }
        stopWaiting(asked, from);
      } else if (message.kind === "ask") {
        const answers = await ask(message.question, message.timeoutMs);
        sendToWorker(from, { kind: "answers", id: message.id, answers });
      }
    },
    forget(worker) {
      for (const [question, answers] of last) {
        const answer = answers.get(worker);
        if (answers.delete(worker)) exited.set(question, fallbacks[question]?.(exited.get(question), answer));
      }
      for (const asked of [...open.values()]) stopWaiting(asked, worker);
    },
  };
}

/** Sends a message, unless the worker is disconnecting. */
function sendToWorker(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
