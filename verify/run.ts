import { type CheckResult, type Group, runCheck, Skip } from "./check.ts";
import { everyAnswer } from "./checks/every-answer.ts";
import { createClient } from "./client.ts";
import { expectResult } from "./expect.ts";
import { groups } from "./groups.ts";
import { startReceiver } from "./receiver.ts";
import { type Application, createWorld, registerDevice } from "./world.ts";

/** Options of a run. */
export interface VerifyOptions {
  readonly url: URL;
  readonly application: Application;
  readonly otherApplication?: Application | undefined;
  /** Of an operator with the role editor or owner; without it, checks that need one are skipped. */
  readonly operatorToken?: string | undefined;
  /** Where the deployment reaches this machine, and the port at which the suite listens there. */
  readonly receiver?: { readonly url: URL; readonly port: number } | undefined;
  /** Names of groups; empty means all. */
  readonly only?: readonly string[];
  /** Called when a check ends. */
  readonly onResult?: (result: CheckResult) => void;
}

/** Runs the suite against a deployment; guarantees for every answer are checked last, on all answers of the run. */
export async function verify(options: VerifyOptions): Promise<CheckResult[]> {
  const { url, application, otherApplication, operatorToken, only = [], onResult = () => {} } = options;
  const secrets = [application.appkey, ...(otherApplication === undefined ? [] : [otherApplication.appkey])];
  const receiver = options.receiver && (await startReceiver(options.receiver));
  const surroundings = { application, otherApplication, operatorToken, receiver };
  const world = createWorld(createClient(url, secrets), surroundings);
  const results: CheckResult[] = [];

  async function run(group: Group): Promise<void> {
    for (const [promise, check] of Object.entries(group.checks)) {
      const result = await runCheck(group.name, promise, check, world);
      results.push(result);
      onResult(result);
    }
  }
  try {
    await run(connection);
    if (results.some(({ outcome }) => outcome === "failed")) return results;
    for (const group of groups) if (only.length === 0 || only.includes(group.name)) await run(group);
    await run(everyAnswer);
    return results;
  } finally {
    await receiver?.close();
  }
}

/** Checks without which the others are meaningless. */
const connection: Group = {
  name: "connection",
  checks: {
    "the deployment responds": async ({ call }) => void expectResult(await call("GET /service/ping")),
    "the application's credentials are accepted": async (world) => void (await registerDevice(world)),
    "the other application's credentials are accepted": async (world) => {
      if (world.otherApplication === undefined) throw new Skip("not given");
      await registerDevice(world, world.otherApplication);
    },
  },
};
