import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ephemeral ports of operating systems (Linux from 32768, others from 49152). */
const [portMin, portMax] = [12_000, 32_000];
const attemptsMax = 100;

/** Finds an unused port of 127.0.0.1 that no outgoing connection can occupy before it is used, or used again. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(portMin, portMax);
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
    } catch (error) {
      if (attempt === attemptsMax) throw error;
      continue;
    }
    probe.close();
    await once(probe, "close");
    return port;
  }
}
