import { findLiveApplication } from "../applications/applications.store.ts";
import { createActionLog } from "../audit/audit.action-log.ts";
import type { Config } from "../config/config.ts";
import { systemOperator } from "../contract/actors.ts";
import { ArchiveResult } from "../contract/file-result.ts";
import type { PresentedPage } from "../contract/paging.ts";
import type { Route } from "../contract/route.ts";
import type { Queries } from "../db/database.ts";
import { parseDate } from "../lib/dates.ts";
import type { ApiError, ErrorCondition } from "../lib/errors.ts";
import { createLocationFinder } from "../locations/locations.ids.ts";
import type { Reply } from "../operations/envelope.ts";
import type { Operation } from "../operations/operation.ts";
import { bindOperation, type RunOnce } from "../operations/perform.ts";
import { unlimited } from "../operations/rate-limits.ts";
import type { CommandServices } from "../operations/services.ts";
import { ApplicationSettingsError } from "../tenancy/application-settings.ts";
import { type Command, UsageError, withDatabase } from "./command.ts";
import type { CommandResult } from "./output.ts";
import { createCommandServices, log } from "./services.ts";

/** One call of an operation by a command. */
interface CommandCall {
  readonly path?: Readonly<Record<string, string>>;
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** The messages for refusals that are mistakes in the command line. */
  readonly refusals?: Partial<Record<ErrorCondition, string>>;
}

/** The subject of a command, with the path and the messages of its operation. */
export interface Subject extends CommandCall {
  readonly id: string;
}

type CommandOperation<Result = unknown> = Operation<Result, CommandServices>;

/** Opens the database like `withDatabase`, and runs the command as the system operator. */
export function asOperator<T>(
  config: Config,
  run: (operator: ReturnType<typeof createOperator>) => Promise<T>,
): Promise<T> {
  return withDatabase(config, async (database) => {
    const services = await createCommandServices(config, database);
    try {
      return await run(createOperator(services, config.pageItemsMax));
    } finally {
      await services.audit.close().catch(() => {}); // it only writes refusals; a change is committed with its entry
    }
  });
}

/**
 * Creates a command that runs one operation on its subject.
 *
 * @param readSubject reads the words after the command's name
 * @param present creates the result of the command
 * @param warning printed without --yes, which is required then
 */
export function operationCommand<Result>(
  operation: CommandOperation<Result>,
  readSubject: (rest: readonly string[]) => Subject,
  present: (id: string, result: Result) => CommandResult,
  warning?: string,
): Command {
  return (config, { yes = false }, rest) =>
    asOperator(config, async ({ perform }) => {
      const { id, ...call } = readSubject(rest);
      if (warning !== undefined && !yes) throw new UsageError(warning);
      return present(id, await perform(operation, call));
    });
}

/** Runs operators' operations in this process, with the same validation and audit log as over HTTP. */
function createOperator(services: CommandServices, pageSize: number) {
  const runOnce: RunOnce = (_caller, _key, _fingerprint, work) => work(); // a command has no idempotency key
  const findLocation = createLocationFinder(services);
  const context = { findLocation, runOnce, rateLimits: unlimited, actionLog: createActionLog(services), log };

  async function answer(route: Route, { path = {}, parameters = {}, refusals = {} }: CommandCall): Promise<Reply> {
    const withoutNetwork = { requestId: "", authorization: undefined, address: "", idempotencyKey: undefined };
    const call = { ...withoutNetwork, path, readParameters: () => Object.entries(parameters) };
    const reply = await bindOperation(route, context).perform(call, systemOperator);
    if (reply.failure === undefined) return reply;
    throw await explainRefusal(reply.failure, path["appid"], refusals, services.database.reads);
  }

  /** @throws UsageError, ApiError */
  async function perform<Result>(operation: CommandOperation<Result>, call: CommandCall = {}): Promise<Result> {
    const results: Result[] = [];
    const route = operation(services, (result) => results.push(result));
    await answer(route, call);
    const result = results.at(-1); // of the last attempt, because a transaction may be retried
    if (result === undefined) throw new Error("the operation has no result");
    return result;
  }

  /** Like `perform`, for an operation that returns an archive. */
  async function performArchive(operation: CommandOperation, call: CommandCall): Promise<ArchiveResult> {
    const { file } = await answer(operation(services), call);
    if (!(file instanceof ArchiveResult)) throw new Error("the operation has no archive");
    return file;
  }

  /** Returns the items of all pages of a listing, at most `itemsMax`. */
  async function list<Item>(
    operation: CommandOperation<PresentedPage<Item>>,
    call: CommandCall = {},
    itemsMax = Number.POSITIVE_INFINITY,
  ): Promise<Item[]> {
    let page = await perform(operation, { ...call, parameters: { ...call.parameters, pageSize } });
    const items = page.pageResults;
    while (page.nextToken !== undefined && items.length < itemsMax) {
      page = await perform(operation, { ...call, parameters: { pagingToken: page.nextToken } });
      items.push(...page.pageResults);
    }
    return items.slice(0, itemsMax);
  }

  return { services, perform, performArchive, list };
}

/** Converts the failure of an operation to the error of a command. */
async function explainRefusal(
  failure: ApiError,
  appid: string | undefined,
  refusals: NonNullable<CommandCall["refusals"]>,
  reads: Queries,
): Promise<unknown> {
  const { condition, cause } = failure;
  if (condition === "InternalError" || cause instanceof ApplicationSettingsError) return cause ?? failure;
  if (appid !== undefined && (condition === "ItemDoesNotExist" || condition === "ServiceUnavailable")) {
    const application = await findLiveApplication(appid, reads).catch(() => Promise.reject(failure));
    if (application === undefined) return new UsageError(`there is no application ${appid}`);
    const { moving_to } = application;
    if (moving_to !== null) return new UsageError(`${appid} is moving to the region ${moving_to}`);
  }
  const reason = refusals[condition];
  return reason === undefined ? failure : new UsageError(reason);
}

/** Formats a date of a result for printing. */
export function showDate(date: string | undefined): string {
  const parsed = parseDate(date);
  return "value" in parsed ? new Date(parsed.value).toISOString() : "";
}
