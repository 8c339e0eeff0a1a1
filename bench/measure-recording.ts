import { call, registerDevice, signUp } from "./api.ts";
import { createApplication } from "./engine.ts";
import { commentOf, type Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import { type LoadResult, numberMark } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import type { Row } from "./report.ts";
import { median } from "./statistics.ts";

/** The factor by which a write may take longer with a reader of events. */
const factorGoal = 1.1;
const rounds = 6;

/** Check-ins in an application whose events have a reader, against check-ins in one without, in turns. */
export async function measureRecording(
  { deployment, server }: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row> {
  const { port } = server;

  async function newWriter(name: string): Promise<string> {
    const deviceToken = await registerDevice(port, await createApplication(deployment), name);
    return (await signUp(port, deviceToken, name)).token;
  }
  const [without, recorded] = [await newWriter("without"), await newWriter("recorded")];
  await call(port, "GET", "/events", recorded);

  function measure(token: string): Promise<LoadResult> {
    const body = JSON.stringify({ location: "48.2082,16.3738", comment: commentOf(numberMark) });
    const request = { method: "POST", path: "/checkins", token, body } as const;
    const { connections, seconds } = options;
    return runLoad({ port, request, status: 201, connections, seconds, firstNumber: 0, numbersMax: 1_000_000 });
  }

  const pairs: { factor: number; quiet: LoadResult; busy: LoadResult }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await untilQuiet(options.patienceSeconds);
    // In turns, because the second measurement of a pair meets a larger database and its checkpoints.
    const isSwapped = round % 2 === 1;
    const first = await measure(isSwapped ? recorded : without);
    const second = await measure(isSwapped ? without : recorded);
    const [quiet, busy] = isSwapped ? [second, first] : [first, second];
    pairs.push({ factor: quiet.perSecond / busy.perSecond, quiet, busy });
    report(`${busy.perSecond.toFixed(0)} against ${quiet.perSecond.toFixed(0)} check-ins/s`);
  }
  const factor = median(pairs.map((pair) => pair.factor));
  return {
    name: "recorded check-in",
    measured: `${median(pairs.map(({ busy }) => busy.perSecond)).toFixed(0)} check-ins/s`,
    p50Ms: median(pairs.map(({ busy }) => busy.p50Ms)),
    p99Ms: median(pairs.map(({ busy }) => busy.p99Ms)),
    against: `no reader, ${median(pairs.map(({ quiet }) => quiet.perSecond)).toFixed(0)}/s`,
    factor,
    goal: { text: `≤ × ${factorGoal.toFixed(2)}`, isMet: factor <= factorGoal },
    details: { pairs },
  };
}
