import { type Fixture, loginUsersMax } from "./fixture.ts";
import { preferredTool, runLoad } from "./load.ts";
import { compareBeside } from "./measure-beside.ts";
import type { Options } from "./options.ts";
import { formatMany, type Row } from "./report.ts";
import { loginRequest, ownProfileRequest } from "./scenarios.ts";

/** The queue holds 256 hashes besides those in progress: it is full, and no login is refused. */
const loginConnections = 256;
const ratePerSecond = 1_000;
const rateConnections = 32;
/** With the load generators on the same two processors as the hashes. */
const factorGoal = 3;

/**
 * The effect of logins that saturate the hash queue on the p99 of GET /users/me, once at a moderate rate and once at
 * the highest rate that the connections allow.
 */
export async function measureLogins(
  fixture: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row[]> {
  const { port } = fixture.server;
  const plan = { port, status: 200, seconds: options.seconds, firstNumber: 0, numbersMax: loginUsersMax };
  const me = { ...plan, request: ownProfileRequest(fixture) };
  const background = { ...plan, request: loginRequest(fixture), connections: loginConnections };
  const logins = { beside: "logins", background, factorGoal };
  return [
    await compareBeside(
      {
        ...logins,
        name: `me during logins, ${formatMany(ratePerSecond)}/s`,
        measure: () => runLoad({ ...me, connections: rateConnections, ratePerSecond }, "own"),
      },
      options,
      report,
    ),
    await compareBeside(
      {
        ...logins,
        name: "me during logins, at full speed",
        measure: () => runLoad({ ...me, connections: options.connections }, preferredTool()),
      },
      options,
      report,
    ),
  ];
}
