import { commentOf, type Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import { type LoadResult, numberMark, type RequestShape } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import type { Row } from "./report.ts";
import { median } from "./statistics.ts";

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
export async function measureBatch(
  fixture: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row[]> {
  const { writer, server } = fixture;
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
    const numbersMax = 1_000_000;
    return runLoad({ port: server.port, request, status, connections, seconds, firstNumber: 0, numbersMax }, "own");
  }

  async function compare(name: string, callConnections: number, connections: number, goal: boolean): Promise<Row> {
    const pairs = [];
    for (let round = 0; round < rounds; round += 1) {
      await untilQuiet(options.patienceSeconds);
      const calls = await measure(call, 201, callConnections);
      const batches = await measure(batch, 200, connections);
      const factor = calls.perSecond / items / batches.perSecond;
      pairs.push({ factor, calls, batches });
      report(`${name}: ${(batches.perSecond * items).toFixed(0)} against ${calls.perSecond.toFixed(0)} check-ins/s`);
    }
    const factor = median(pairs.map((pair) => pair.factor));
    return {
      name,
      measured: `${(median(pairs.map(({ batches }) => batches.perSecond)) * items).toFixed(0)} check-ins/s`,
      p50Ms: median(pairs.map(({ batches }) => batches.p50Ms)),
      p99Ms: median(pairs.map(({ batches }) => batches.p99Ms)),
      against: `${items} calls, ${median(pairs.map(({ calls }) => calls.perSecond)).toFixed(0)}/s`,
      factor,
      ...(goal && { goal: { text: `≤ × ${factorGoal.toFixed(2)}`, isMet: factor <= factorGoal } }),
      details: { pairs },
    };
  }
  return [
    await compare("batch of 20, one client", 1, 1, true),
    await compare("batch of 20, full load", options.connections, batchConnections, false),
  ];
}
