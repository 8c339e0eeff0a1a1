import type { Config } from "../../config/config.ts";
import type { Call } from "../../contract/call.ts";
import { ApiError } from "../../lib/errors.ts";
import { networkOf } from "../../lib/ip-addresses.ts";
import { FairQueue, type LaneSettings, type LaneStatistics, type Ticket } from "../../limits/fair-queue.ts";

const userLanes = ["user", "unrecognized_user"] as const;
const operatorLanes = ["operator", "unrecognized_operator"] as const;

type UserLane = (typeof userLanes)[number];
type OperatorLane = (typeof operatorLanes)[number];

/** The reason for a hash: a user or operator whom the caller has proven to be before, or an unrecognized caller. */
export type HashLane = UserLane | OperatorLane;

export type HashTicket = Ticket<UserLane> | Ticket<OperatorLane>;

type HashCall = Pick<Call, "address" | "whenGone">;

/**
 * The ticket for hashing a user's password.
 *
 * @param recognizedUserId the user, if the call comes from one of its devices or with one of its tokens
 */
export function userTicket(applicationId: string, call: HashCall, recognizedUserId?: string): Ticket<UserLane> {
  const isRecognized = recognizedUserId !== undefined;
  return {
    lane: isRecognized ? "user" : "unrecognized_user",
    application: applicationId,
    caller: isRecognized ? recognizedUserId : networkOf(call.address),
    signal: call.whenGone?.(),
  };
}

/** The ticket for hashing an operator's password. @param recognized a session, a marked browser, or a command line */
export function operatorTicket(call: HashCall | undefined, recognized?: string): Ticket<OperatorLane> {
  return {
    lane: recognized === undefined ? "unrecognized_operator" : "operator",
    application: "",
    caller: recognized ?? networkOf(call?.address ?? ""),
    signal: call?.whenGone?.(),
  };
}

/** Schedules hashes fairly, because each occupies a processor and memory. */
export interface HashQueue {
  /** @throws ApiError ServiceUnavailable */
  run<T>(ticket: HashTicket, job: () => Promise<T>): Promise<T>;
  statistics(): Readonly<Record<HashLane, LaneStatistics>>;
}

/**
 * Two queues: operators may run one hash in addition to the users' hashes, so that a flood of users' logins does not
 * lock them out. A bound per lane is enough: when it is reached, the caller with the longest queue gives way.
 */
export function createHashQueue(settings: Pick<Config, "passwordHashThreads" | "passwordHashQueueMax">): HashQueue {
  const laneOf = (weight: number, waitingMax: number): LaneSettings => ({
    weight,
    waitingMax,
    waitingPerApplicationMax: waitingMax,
    waitingPerCallerMax: waitingMax,
  });
  const { passwordHashThreads, passwordHashQueueMax } = settings;
  const common = { name: "hash password", refuse };
  const users = new FairQueue<UserLane>({
    ...common,
    runningMax: passwordHashThreads,
    lanes: { user: laneOf(4, passwordHashQueueMax), unrecognized_user: laneOf(1, passwordHashQueueMax) },
  });
  const operators = new FairQueue<OperatorLane>({
    ...common,
    runningMax: 1,
    // Effectively first: the guard admits ten unrecognized attempts per second.
    lanes: { operator: laneOf(1_000, 100), unrecognized_operator: laneOf(1, 1_000) },
  });
  const lanes = { ...users.statistics(), ...operators.statistics() };
  return {
    run: (ticket, job) => (isOfOperator(ticket) ? operators.run(ticket, job) : users.run(ticket, job)),
    statistics: () => lanes,
  };
}

function isOfOperator(ticket: HashTicket): ticket is Ticket<OperatorLane> {
  return operatorLanes.some((lane) => lane === ticket.lane);
}

function refuse(reason: "full" | "abandoned"): ApiError {
  return new ApiError(
    "ServiceUnavailable",
    reason === "full" ? "Too many sign-ins are waiting. Try again." : "The client no longer waits for the response.",
  );
}
