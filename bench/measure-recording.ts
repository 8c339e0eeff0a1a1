import { call, registerDevice, signUp } from "./api.ts";
import { createApplication } from "./engine.ts";
import { commentOf } from "./fixture.ts";
import { runLoad } from "./load.ts";
import { type LoadResult, numberMark } from "./load-plan.ts";
import { columnsOf, type Measure, measureInTurns } from "./turns.ts";

/** The factor by which a write may take longer with a reader of events. */
const factorGoal = 1.1;
const rounds = 6;

/** Check-ins in an application whose events have a reader, against check-ins in one without, in turns. */
export const measureRecording: Measure = async ({ deployment, server }, options, report) => {
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
    return runLoad({ port, request, status: 201, connections, seconds });
  }

  const { pairs, ratio, median } = await measureInTurns(
    { ...options, runs: rounds, alternates: true },
    () => measure(without),
    () => measure(recorded),
    (quiet, busy) => quiet.perSecond / busy.perSecond,
    ({ base, own }) => report(`${own.perSecond.toFixed(0)} against ${base.perSecond.toFixed(0)} check-ins/s`),
  );
  return {
    name: "recorded check-in",
    measured: `${median(({ own }) => own.perSecond).toFixed(0)} check-ins/s`,
    ...columnsOf(pairs.map(({ own }) => own)),
    against: `no reader, ${median(({ base }) => base.perSecond).toFixed(0)}/s`,
    factor: ratio,
    goal: { text: `≤ × ${factorGoal.toFixed(2)}`, isMet: ratio <= factorGoal },
    details: { pairs },
  };
};
