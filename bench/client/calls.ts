/** Calls by the client, as compiled for Node.js, and the same ones by bare `fetch`, in one process. A worker. */
import { randomUUID } from "node:crypto";
import { answerRequests, readSetting } from "../../testkit/worker.ts";
import type { ClientRate, ClientRound, ClientSetting } from "./plan.ts";

const { url, token, checkinId } = readSetting<ClientSetting>();
const location = { lat: 48.2082, lng: 16.3738 };
const comment = "Coffee with a view";

const bundle = new URL("../../sdk/dist/bundle/", import.meta.url);
const { connect }: typeof import("../../sdk/src/index.ts") = await import(`${new URL("index.js", bundle)}`);
const { createCheckin, getCheckin }: typeof import("../../sdk/src/calls.ts") = await import(
  `${new URL("calls.js", bundle)}`
);
const client = connect({ url, token });
const authorization = `Service ${token}`;

const calls = {
  GET: {
    client: () => client.send(getCheckin(checkinId)),
    fetch: () => fetchResult(`/checkins/${checkinId}`, { headers: { authorization } }),
  },
  POST: {
    client: () => client.send(createCheckin({ location, comment })),
    fetch: () =>
      fetchResult("/checkins", {
        method: "POST",
        headers: { authorization, "content-type": "application/json", "idempotency-key": randomUUID() },
        body: JSON.stringify({ location: `${location.lat},${location.lng}`, comment }),
      }),
  },
} as const;

async function fetchResult(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(`${url}${path}`, init);
  const { success, result } = JSON.parse(await response.text());
  if (success !== true) throw new Error(`${path} was answered with ${response.status}`);
  return result;
}

answerRequests(async ({ method, by, concurrency, seconds }: ClientRound): Promise<ClientRate> => {
  const call = calls[method][by];
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  let done = 0;
  async function callUntilEnd(): Promise<void> {
    while (performance.now() - startedAt < seconds * 1000) {
      await call();
      done += 1;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, callUntilEnd));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond: done / ((performance.now() - startedAt) / 1000), cpuMicros: (user + system) / done };
});
