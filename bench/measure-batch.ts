import { commentOf } from "./fixture.ts";
import { runLoad } from "./load.ts";
import { type LoadResult, numberMark, type RequestShape } from "./load-plan.ts";
import type { Row } from "./report.ts";
import { columnsOf, type Measure, measureInTurns } from "./turns.ts";

const items = 20;
/** The limit, as a share of the cost of as many single calls. */
const factorGoal = 1 / 3;
const rounds = 5;
/**
 * A batch is twenty calls, so that a few connections with batches keep the server as busy as all connections with
 * calls.
 */
const batchConnections = 16;

/**
 * A batch of 20 check-ins against 20 calls: for one client that waits for each response, and for a server under full
 * load.
 */
export const measureBatch: Measure = async ({ writer, server }, options, report) => {
  const parameters = { location: "48.2082,16.3738", comment: commentOf(numberMark) };
  const item = { method: "POST", path: "/checkins", parameters };
  const call: RequestShape = { ...item, method: "POST", token: writer.token, body: JSON.stringify(parameters) };
  const batch: RequestShape = {
    method: "POST",
    path: "/batch",
    token: writer.token,
    body: JSON.stringify({ requests: Array(items).fill({ ...item, parameters: { ...parameters, comment: "bench" } }) }),
  };

  function measure(request: RequestShape, status: number, connections: number): Promise<LoadResult> {
    const seconds = Math.max(1, options.seconds / 2);
    return runLoad({ port: server.port, request, status, connections, seconds }, "own");
  }

  async function compare(name: string, callConnections: number, connections: number, goal: boolean): Promise<Row> {
    const { pairs, ratio, median } = await measureInTurns(
      { ...options, runs: rounds },
      () => measure(call, 201, callConnections),
      () => measure(batch, 200, connections),
      (calls, batches) => calls.perSecond / items / batches.perSecond,
      ({ base, own }) =>
        report(`${name}: ${(own.perSecond * items).toFixed(0)} against ${base.perSecond.toFixed(0)} check-ins/s`),
    );
    return {
      name,
      measured: `${(median(({ own }) => own.perSecond) * items).toFixed(0)} check-ins/s`,
      ...columnsOf(pairs.map(({ own }) => own)),
      against: `${items} calls, ${median(({ base }) => base.perSecond).toFixed(0)}/s`,
      factor: ratio,
      ...(goal && { goal: { text: `≤ × ${factorGoal.toFixed(2)}`, isMet: ratio <= factorGoal } }),
      details: { pairs },
    };
  }
  return [
    await compare("batch of 20, one client", 1, 1, true),
    await compare("batch of 20, full load", options.connections, batchConnections, false),
  ];
};
