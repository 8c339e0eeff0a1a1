import { startWorker, type Worker } from "../testkit/worker.ts";
import { call, password } from "./api.ts";
import type { RateWorker } from "./engine.ts";
import type { Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import type { LoadResult, RequestShape } from "./load-plan.ts";

/** The raw speed that a request is compared with. */
export interface Ceiling {
  readonly name: string;
  /** Operations per second in this time; with latencies if a load generator measured them. */
  measure(seconds: number): Promise<Pick<LoadResult, "perSecond"> & Partial<LoadResult>>;
  end(): Promise<void>;
}

/** Creates a ceiling for a request to a running server. */
export type StartCeiling = (fixture: Fixture, request: RequestShape, connections: number) => Promise<Ceiling>;

/** Bare `node:http` in its own process: a response of the same size and type, under the same load. */
export const bareHttp: StartCeiling = async ({ server }, request, connections) => {
  const { text: body, headers } = await call(server.port, request.method, request.path, request.token);
  const setting = { body, contentType: headers["content-type"] };
  const worker: Worker<object, number> = startWorker(import.meta.resolve("./ceiling-http.ts"), setting);
  const port = await worker.ask({});
  return {
    name: "node:http",
    measure: (seconds) => runLoad({ port, request, status: 200, connections, seconds }),
    end: worker.end,
  };
};

/** The engine's own durable inserts into the same table, as many at a time as there are connections. */
export function durableInserts(table: string): StartCeiling {
  return async ({ engine, deployment }, _request, connections) =>
    ceilingOf(`${engine.name} inserts`, await engine.startInsertCeiling(deployment, table, connections));
}

/** argon2 alone, with the concurrency of the server. */
export function argon2(work: "hash" | "verify"): StartCeiling {
  return async () =>
    ceilingOf(
      work === "hash" ? "argon2 hashes" : "argon2 verifies",
      startWorker(import.meta.resolve("./ceiling-argon2.ts"), { work, password }),
    );
}

function ceilingOf(name: string, worker: RateWorker): Ceiling {
  return {
    name,
    measure: async (seconds) => ({ perSecond: await worker.ask({ seconds }) }),
    end: worker.end,
  };
}
