import { setTimeout as sleep } from "node:timers/promises";
import type { StreamOrder, StreamReport } from "../bench/client/stream-plan.ts";
import { createDeployment, type Deployment, runCli } from "../testkit/deployment.ts";
import { password, registerDevice, signUp } from "../testkit/people.ts";
import { startServer } from "../testkit/server.ts";
import { startWorker } from "../testkit/worker.ts";
import { type Api, createApi, untilAnswered } from "./api.ts";
import { Probes } from "./probes.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";

/** Half of what a device and a user may have, so that a client that comes back is not refused because of its old connection. */
const perToken = 5;
const devicesPerUser = 5;
const calmMs = 3_000;
const noiseMs = 5_000;
const eventsPerSecond = 1_000;
/** How many check-ins one call of the noisy application makes. */
const eventsPerCall = 10;
const eventMsMax = 60_000;
const returnMsMax = 120_000;
const backMsMax = 30_000;
/** The factor by which the quiet application may wait longer, and a wait that is short enough on a shared machine. */
const p99FactorMax = 2;
const p99MsMax = 500;

/** Many streams of one application, and what other applications notice of them. */
export const manyStreams: Scenario = {
  name: "many streams",
  promise:
    "a quiet application waits no longer beside a thousand events a second, and streams that are cut at once are back within 30 s without a loss",
  isTimed: true,
  async run(tally, { isLong }) {
    const [streams, missed] = isLong ? [10_000, 10_000] : [2_000, 5_000];
    const deployment = await createDeployment({ STREAMS_MAX: `${2 * streams}` }); // an application may have half of them
    const quiet: Deployment["application"] = await runCli(
      deployment.settings,
      ...["apps", "create", "--name", "Quiet", "--json"],
    );
    const server = await startServer(deployment.settings);
    const api = createApi(server.port, tally, { isCounted: false });
    const tokens = await signInAll(api, deployment, streams);
    const { token: writer } = await untilAnswered(() => signUp(api, deployment, "writer"));
    const clients = startWorker<StreamOrder, StreamReport>(import.meta.resolve("../bench/client/streams.ts"), {});
    const probes = await Probes.begin({ ...deployment, application: quiet }, server.port, tally);
    await sleep(2 * calmMs); // the sign-ins leave work behind
    const calm = probes.p99Ms(performance.now() - calmMs, performance.now());

    const opened = await clients.ask({ kind: "open", port: server.port, tokens, perToken });
    if (opened.ready !== streams) tally.wrong.push(`${opened.ready} of ${streams} streams were opened`);
    await tell(api, writer, "to all");
    await expectEvents("before the noise");
    await sleep(calmMs); // the opening leaves work behind
    const noiseFrom = performance.now();
    const written = await makeNoise(api, writer, tally);
    const [noiseUntil, p99] = [performance.now(), probes.p99Ms(noiseFrom, performance.now())];
    const rate = (written / (noiseUntil - noiseFrom)) * 1_000;
    if (p99 > Math.max(p99MsMax, p99FactorMax * calm)) {
      tally.wrong.push(`the quiet application waited ${p99.toFixed(0)} ms (p99), alone ${calm.toFixed(0)} ms`);
    }

    await clients.ask({ kind: "reset" });
    await clients.ask({ kind: "leave" });
    tally.faults += streams;
    for (let count = 0; count < missed; count += eventsPerCall) await checkInPrivately(api, writer);
    await tell(api, writer, "while all were away");
    const returnFrom = performance.now();
    const { tookMs, complete } = await clients.ask({ kind: "return", events: 1, msMax: returnMsMax });
    tally.checks += complete;
    if (complete !== streams || tookMs > backMsMax) {
      tally.wrong.push(`${complete} of ${streams} streams were back with their event after ${inSeconds(tookMs)}`);
    }
    const returnP99 = probes.p99Ms(returnFrom, performance.now());
    await tell(api, writer, "when all were back");
    await expectEvents("after they were back", 2);
    const refused = probes.failuresSince(noiseFrom);
    tally.checks += probes.successes(noiseFrom, performance.now()).length + refused;
    if (refused > 0) tally.wrong.push(`${refused} calls of the quiet application failed`);
    tally.remarks.push(
      `p99 of the quiet application ${calm.toFixed(0)} → ${p99.toFixed(0)} ms beside ${rate.toFixed(0)} events/s`,
      `${streams} back in ${inSeconds(tookMs)}, p99 ${returnP99.toFixed(0)} ms meanwhile`,
    );
    await probes.end();
    await clients.end();
    api.close();
    if ((await server.end("SIGTERM")) !== 0) tally.wrong.push("the server failed");

    async function expectEvents(when: string, events = 1): Promise<void> {
      const { complete } = await clients.ask({ kind: "received", events, msMax: eventMsMax });
      tally.checks += complete;
      if (complete !== streams) tally.lost.push(`${streams - complete} streams missed an event ${when}`);
    }
  },
};

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** A token on each device of users enough for all streams. */
async function signInAll(api: Api, deployment: Deployment, streams: number): Promise<string[]> {
  const users = streams / perToken / devicesPerUser;
  const found = await Promise.all(
    Array.from({ length: users }, async (_, user) => {
      const username = `listener-${user}`;
      const tokens = [(await untilAnswered(() => signUp(api, deployment, username))).token];
      while (tokens.length < devicesPerUser) {
        const body = { username, password };
        const token = await untilAnswered(() => registerDevice(api, deployment));
        const { body: login } = await untilAnswered(() => api.call("POST /users/login", { token, body }));
        tokens.push(login.result.accessToken);
      }
      return tokens;
    }),
  );
  return found.flat();
}

/** A check-in that all streams receive. */
async function tell(api: Api, token: string, comment: string): Promise<void> {
  await api.call("POST /checkins", { token, body: { location: "1,2", comment, readPermissions: "App" } });
}

/** Check-ins that no other user may read. */
async function checkInPrivately(api: Api, token: string): Promise<void> {
  const request = { method: "POST", path: "/checkins", parameters: { location: "1,2" } };
  const requests = Array.from({ length: eventsPerCall }, () => request);
  const { body } = await api.call("POST /batch", { token, body: { requests } });
  const failed = body.result.responses.find(({ status }: { status: number }) => status >= 300);
  if (failed !== undefined) throw new Error(`a check-in was not made: ${JSON.stringify(failed)}`);
}

/** Checks in privately at a steady rate. @returns how often */
async function makeNoise(api: Api, token: string, tally: Tally): Promise<number> {
  const everyMs = (1_000 * eventsPerCall) / eventsPerSecond;
  const calls: Promise<void>[] = [];
  let written = 0;
  const count = () => {
    written += eventsPerCall;
  };
  for (const startedAt = performance.now(); performance.now() - startedAt < noiseMs; ) {
    calls.push(checkInPrivately(api, token).then(count, (error) => void tally.wrong.push(`noise: ${error.message}`)));
    await sleep(Math.max(0, startedAt + calls.length * everyMs - performance.now()));
  }
  await Promise.all(calls);
  return written;
}
