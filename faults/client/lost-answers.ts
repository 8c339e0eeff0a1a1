import { createDeployment } from "../../testkit/deployment.ts";
import { createRandom } from "../../testkit/random.ts";
import { startServer } from "../../testkit/server.ts";
import type { Scenario } from "../scenario.ts";
import { Writer } from "./writer.ts";

const callCount = 1_000;
const callsAtOnce = 20;
const lostShare = 0.3;

export const lostAnswers: Scenario = {
  name: "client, 30 % of answers lost",
  promise: "every call ends by a result or a typed error, and no write is done twice",
  async run(tally, { seed }) {
    const random = createRandom(seed);
    const deployment = await createDeployment();
    const server = await startServer(deployment.settings);
    const url = `http://127.0.0.1:${server.port}`;
    let isLossy = false;
    const network: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const bytes = await response.arrayBuffer();
      if (!isLossy || random() >= lostShare) return new Response(bytes, response);
      tally.faults += 1;
      throw new TypeError("fetch failed");
    };
    const writer = await Writer.signUp(deployment, url, "writer", tally, network);
    isLossy = true;
    const calls = Array.from({ length: callCount }).values();
    const writeSome = async () => {
      for (const _ of calls) await writer.write();
    };
    await Promise.all(Array.from({ length: callsAtOnce }, writeSome));
    await writer.check(url);
    tally.remarks.push(`seed ${seed}`, `${writer.rejected} rejected`, `${writer.replayed} replayed`);
    await writer.close();
    await server.end("SIGTERM");
  },
};
