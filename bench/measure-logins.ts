import { loginUsersMax } from "./fixture.ts";
import { preferredTool, runLoad } from "./load.ts";
import { beginLoad, compareBeside } from "./measure-beside.ts";
import { formatMany } from "./report.ts";
import { loginRequest, ownProfileRequest } from "./scenarios.ts";
import type { Measure } from "./turns.ts";

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
export const measureLogins: Measure = async (fixture, options, report) => {
  const { port } = fixture.server;
  const plan = { port, status: 200, seconds: options.seconds, numbersMax: loginUsersMax };
  const me = { ...plan, request: ownProfileRequest(fixture) };
  const logins = { ...plan, request: loginRequest(fixture), connections: loginConnections };
  const neighbours = { factorGoal, begin: () => beginLoad(logins, "logins") };
  const atRate = {
    ...neighbours,
    name: `me during logins, ${formatMany(ratePerSecond)}/s`,
    measure: () => runLoad({ ...me, connections: rateConnections, ratePerSecond }, "own"),
  };
  const atFullSpeed = {
    ...neighbours,
    name: "me during logins, at full speed",
    measure: () => runLoad({ ...me, connections: options.connections }, preferredTool()),
  };
  return [await compareBeside(atRate, options, report), await compareBeside(atFullSpeed, options, report)];
};
