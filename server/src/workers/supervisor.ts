import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../config.ts";
import { onStop } from "../lib/stop-signals.ts";
import { createLog, type Log } from "../log.ts";
import { type ToSupervisor, workerVariable } from "./messages.ts";
import { createQuestions, type Keepers, tell } from "./questions.ts";

/** A place for a worker; whoever dies in it is replaced. */
interface Place {
  readonly number: number;
  worker: Worker | undefined;
  isListening: boolean;
  /** In a row, each soon after its start. */
  deaths: number;
}

const restartMsMin = 100;
const restartMsMax = 10_000;
/** Who has lived for so long did not die of its start. */
const longLifeMs = 60_000;
/** What a worker may take to end beyond the time that its requests have: background work, the last writes. */
const endMsMax = 15_000;

/**
 * Serves with several processes of this machine, until SIGTERM or SIGINT. This one serves nothing: it starts the others,
 * replaces those that die, and ends when they have ended. Resolves once all of them listen, or the start has failed.
 *
 * The first one starts alone: it makes what a new deployment begins with, and when it cannot start, none of them can.
 */
export async function supervise(config: Config, keepers: Keepers = {}): Promise<void> {
  const log = createLog(config.logLevel);
  const port = await findPort(config);
  const places: Place[] = Array.from({ length: config.workers }, (_, index) => ({
    number: index + 1,
    worker: undefined,
    isListening: false,
    deaths: 0,
  }));
  const questions = createQuestions(() => listening().flatMap(({ worker }) => worker ?? []), keepers);
  let isStarted = false;
  let isStopping = false;

  function listening(): Place[] {
    return places.filter((place) => place.isListening);
  }

  /** Resolves when it listens, or has ended before that. */
  function start(place: Place): Promise<void> {
    const worker = cluster.fork({ [workerVariable]: place.number, PORT: port });
    const startedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    place.worker = worker;
    worker.on("message", (message: ToSupervisor) => {
      if (message.kind === "listening") {
        place.isListening = true;
        resolve();
      } else {
        questions.take(message, worker);
      }
    });
    worker.on("error", () => {}); // of its channel: it is on its way out
    worker.once("exit", (code, signal) => {
      place.worker = undefined;
      place.isListening = false;
      questions.forget(worker);
      resolve();
      if (!isStarted || isStopping) return;
      place.deaths = performance.now() - startedAt > longLifeMs ? 0 : place.deaths + 1;
      const restartMs = Math.min(restartMsMin * 2 ** place.deaths, restartMsMax);
      log.error(
        { worker: place.number, code, signal, restart_ms: restartMs },
        "a worker has ended, another one starts",
      );
      setTimeout(() => {
        if (!isStopping) start(place);
      }, restartMs);
    });
    return promise;
  }

  /** @returns whether all of them ended by themselves */
  async function stopAll(): Promise<boolean> {
    isStopping = true;
    const ended = places.map(({ worker, isListening }) => worker && stopWorker(worker, isListening, config));
    return (await Promise.all(ended)).every((isClean) => isClean !== false);
  }

  async function stop(signal: string): Promise<void> {
    if (isStopping) return;
    log.info({ signal }, "shutting down the workers");
    end(log, (await stopAll()) ? 0 : 1);
  }
  onStop(stop);
  if (config.tls !== undefined) {
    process.on("SIGHUP", () => {
      for (const { worker } of listening()) worker?.process.kill("SIGHUP");
    });
  }

  const [first, ...others] = places;
  if (first !== undefined) await start(first);
  if (first?.isListening === true) await Promise.all(others.map(start));
  isStarted = true;
  if (isStopping || listening().length === places.length) return;
  await stopAll(); // the one that could not start has said why
  end(log, 1);
}

/** @returns false when it had to be killed, or failed at its end */
async function stopWorker(worker: Worker, isListening: boolean, config: Config): Promise<boolean> {
  const exited = once(worker, "exit");
  // One that is still starting listens to nothing; signals end it as they would end a process of its own.
  if (isListening) tell(worker, { kind: "stop" });
  else worker.process.kill("SIGTERM");
  const timer = setTimeout(() => worker.process.kill("SIGKILL"), config.shutdownGraceMs + endMsMax);
  const [code] = await exited;
  clearTimeout(timer);
  return code === 0 || !isListening;
}

function end(log: Log, code: number): void {
  log.flush(() => process.exit(code));
}

/**
 * The port that all of them listen on. Workers share it, and so could those of another server that has been started by
 * mistake: who gets here first has it to itself.
 */
async function findPort({ host, port }: Config): Promise<number> {
  const probe = createServer().listen(port, host);
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : port;
}
