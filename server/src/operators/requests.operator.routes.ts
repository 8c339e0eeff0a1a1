import { requireApplication } from "../auth/operated-application.ts";
import { mayDo } from "../config/roles.ts";
import type { Queries } from "../db/database.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import {
  type AnsweredRequest,
  isStatusFilter,
  ListRequests,
  RecentRequests,
  RequestsPath,
} from "./requests.contract.ts";
import { callsMax, type Positions, type ProcessAnswer, type Question } from "./requests.ts";

const listRequests = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/requests",
  operation: "listRequests",
  summary: "List the calls of an application that this machine answered last",
  description:
    "For a live log: send the cursor of each answer with the next call. With the `before` of an answer, earlier ones. They are kept in memory, a thousand for each application and process, and 200 refusals.",
  tag: "Operators",
  caller: "operator",
  pathParameters: RequestsPath,
  parameters: ListRequests,
  status: 200,
  result: RecentRequests,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters }, { config, requests, database: { reads } }) {
    const { cursor, before, ...filters } = parameters;
    if (filters.status !== undefined && !isStatusFilter(filters.status)) {
      throw new ApiError("ParameterOutOfRange", "status must be a status, or a class such as 4xx.", {
        parameter: "status",
      });
    }
    if (cursor !== undefined && before !== undefined)
      throw new ApiError("ParameterOutOfRange", "before cannot be combined with cursor.", { parameter: "before" });
    const positions = readCursor("cursor", cursor) ?? readCursor("before", before) ?? {};
    const isBackward = before !== undefined;
    await requireApplication(appid, reads);
    const areAddressesShort = !mayDo(caller.role, "editor");
    const question = { applicationId: appid, positions, isBackward, filters, areAddressesShort };
    const answers = await requests.ask(question);
    const answer = present(answers, question, config.workers);
    return { ...answer, calls: await withPlatforms(appid, answer.calls, reads) };
  },
});

function present(answers: readonly ProcessAnswer[], { positions, isBackward }: Question, workers: number) {
  const calls = answers
    .flatMap((answer) => answer.calls.map((call) => ({ ...call, answer })))
    .sort((a, b) => a.at - b.at || a.number - b.number);
  const shown = isBackward ? calls.slice(-callsMax) : calls.slice(0, callsMax);
  const cut = calls.filter((call) => !shown.includes(call));
  const next: Record<string, number> = { ...positions };
  const earlier: Record<string, number> = {};
  const isForward = !isBackward && Object.keys(positions).length > 0;
  for (const answer of answers) {
    delete next[answer.process]; // marks the process as not answering
    const firstLeft = isBackward ? undefined : cut.find((call) => call.answer === answer);
    next[answer.process] = firstLeft === undefined ? answer.until : firstLeft.number - 1;
    const first = shown.find((call) => call.answer === answer)?.number ?? positions[answer.process];
    const isLeft = answer.hasEarlier || (isBackward && cut.some((call) => call.answer === answer));
    if (!isForward && isLeft && first !== undefined) earlier[answer.process] = first;
  }
  const since = answers.flatMap(({ completeSince }) => completeSince ?? []);
  if (isBackward && cut.length > 0) since.push(shown[0]?.at ?? 0);
  return {
    calls: shown
      .map(({ at, shown: call, answer }): AnsweredRequest => ({ ...call, time: formatDate(at), worker: answer.worker }))
      .reverse(),
    cursor: writeCursor(next),
    ...(Object.keys(earlier).length > 0 && { before: writeCursor(earlier) }),
    processes: Array.from({ length: Math.max(workers, 1) }, (_, index) => ({
      worker: index + 1,
      isSilent: !answers.some(({ worker }) => worker === index + 1),
    })),
    ...(since.length > 0 && { since: formatDate(Math.max(...since)) }),
  };
}

/** Adds the platforms of the devices, which a process does not have when it answers a call. */
async function withPlatforms(
  applicationId: string,
  calls: readonly AnsweredRequest[],
  queries: Queries,
): Promise<AnsweredRequest[]> {
  const platforms = await findPlatforms(applicationId, new Set(calls.flatMap(({ device }) => device ?? [])), queries);
  return calls.map((call) => {
    const platform = call.device === undefined ? undefined : platforms.get(call.device);
    return platform === undefined ? call : { ...call, platform };
  });
}

async function findPlatforms(
  applicationId: string,
  deviceIds: ReadonlySet<string>,
  queries: Queries,
): Promise<ReadonlyMap<string, string>> {
  if (deviceIds.size === 0) return new Map();
  const found = queries.selectFrom("devices").select(["id", "platform"]).where("application_id", "=", applicationId);
  const rows = await found.where("id", "in", [...deviceIds]).execute();
  return new Map(rows.map(({ id, platform }) => [id, platform]));
}

/** Above this number, positions of stopped processes are dropped. */
const processesMax = 64;

function writeCursor(positions: Positions): string {
  const latest = Object.entries(positions).slice(-processesMax);
  return Buffer.from(JSON.stringify(latest)).toString("base64url");
}

/** @throws ApiError ParameterIncorrectFormat */
function readCursor(parameter: "cursor" | "before", cursor: string | undefined): Positions | undefined {
  if (cursor === undefined) return undefined;
  try {
    const entries: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(entries) && entries.every(isPosition)) return Object.fromEntries(entries);
  } catch {} // not JSON
  throw new ApiError("ParameterIncorrectFormat", `${parameter} must be the ${parameter} of an answer.`, { parameter });
}

function isPosition(entry: unknown): entry is readonly [string, number] {
  return (
    Array.isArray(entry) &&
    entry.length === 2 &&
    typeof entry[0] === "string" &&
    /^[\w-]{1,16}$/.test(entry[0]) &&
    Number.isSafeInteger(entry[1])
  );
}

/** Operators read the live log of an application (spec/statistics#recent-requests). */
export const requestOperations = [listRequests];
