import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "./engine.ts";
import { startFixture } from "./fixture.ts";
import { idleSeconds, type Peer, type PeerRequest } from "./peer.ts";
import { scenarios } from "./scenarios.ts";

const keys = { me: "me", get: "get", list: "list", create: "check-in", register: "register", login: "login" } as const;

/** Rollcall itself, with the requests of the main table. */
export function rollcall(engine: Engine, name = `Rollcall, ${engine.name}`): Peer {
  return {
    name,
    async start() {
      let idleBytes = 0;
      const fixture = await startFixture(engine, async (server) => {
        await delay(idleSeconds * 1000);
        idleBytes = server.residentBytes();
      });
      const { port, startedInMs, cpuSeconds, stop } = fixture.server;
      const requests = Object.entries(keys).map(([row, key]): [string, PeerRequest] => {
        const scenario = scenarios.find((each) => each.key === key);
        if (scenario === undefined) throw new Error(`there is no scenario ${key}`);
        return [row, { ...scenario.request(fixture), status: scenario.status, numbersMax: scenario.numbersMax }];
      });
      return { port, startedInMs, idleBytes, cpuSeconds, stop, requests: Object.fromEntries(requests) };
    },
  };
}
