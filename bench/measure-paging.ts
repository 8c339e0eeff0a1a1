import { call, signUp } from "./api.ts";
import { fillCheckins } from "./fill.ts";
import { commentOf } from "./fixture.ts";
import { runLoad } from "./load.ts";
import type { LoadResult } from "./load-plan.ts";
import { columnsOf, type Measure, measureInTurns } from "./turns.ts";

const pageItems = 10;
const deepPage = 10_000;
/** One page more than is read, so that the deep page has a next token to make, as the first page has. */
const checkinCount = pageItems * (deepPage + 1);
const factorGoal = 1.5;
const rounds = 5;

/** Page 1 against page 10,000 of one user's 100,000 check-ins, one request at a time. */
export const measurePaging: Measure = async (fixture, options, report) => {
  const { port } = fixture.server;
  const collector = await signUp(port, fixture.deviceToken, "collector");
  await fillCheckins(fixture.deployment, checkinCount, (number) => ({
    application_id: fixture.credentials.appid,
    user_id: collector.id,
    lat: 48.2082,
    lng: 16.3738,
    comment: commentOf(String(number)),
  }));
  report(`${checkinCount} check-ins are stored`);

  const firstPath = `/checkins?pageSize=${pageItems}`;
  const deepPath = await followToDeepPage(port, collector.token, firstPath);

  function measure(path: string): Promise<LoadResult> {
    const request = { method: "GET", path, token: collector.token } as const;
    const seconds = Math.max(1, options.seconds / 2);
    return runLoad({ port, request, status: 200, connections: 1, seconds }, "own");
  }
  await measure(deepPath); // warms up
  const { pairs, ratio, median } = await measureInTurns(
    { ...options, runs: rounds },
    () => measure(firstPath),
    () => measure(deepPath),
    (first, deep) => deep.p50Ms / first.p50Ms,
    ({ base, own, ratio }) =>
      report(`page 1 ${base.p50Ms.toFixed(2)} ms, page ${deepPage} ${own.p50Ms.toFixed(2)} ms; × ${ratio.toFixed(2)}`),
  );
  return {
    name: "page 10,000 of 10",
    measured: `${median(({ own }) => own.p50Ms).toFixed(2)} ms`,
    ...columnsOf(pairs.map(({ own }) => own)),
    against: `page 1 ${median(({ base }) => base.p50Ms).toFixed(2)} ms`,
    factor: ratio,
    // In both directions: a first page that is slower than the deep one is a fault, too.
    goal: { text: `within × ${factorGoal}`, isMet: Math.max(ratio, 1 / ratio) <= factorGoal },
    details: { checkins: checkinCount, pairs },
  };
};

/** Follows `nextToken` as a client does, and counts the rows. @returns the path of the deep page */
async function followToDeepPage(port: number, token: string, firstPath: string): Promise<string> {
  let path = firstPath;
  for (let page = 1; page < deepPage; page += 1) {
    const { body } = await call(port, "GET", path, token);
    const { pageResults, nextToken } = body.result;
    if (!Array.isArray(pageResults) || pageResults.length !== pageItems || typeof nextToken !== "string") {
      throw new Error(`page ${page} is not full or has no next one`);
    }
    path = `/checkins?pagingToken=${encodeURIComponent(nextToken)}`;
  }
  return path;
}
