import { requireApplication } from "../auth/operated-application.ts";
import { findOperatorBySession } from "../auth/operator-sessions.ts";
import type { Call } from "../contract/call.ts";
import type { OperatorCaller } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { openCursor } from "./events.cursor.ts";
import { readForwards, sizeToReserve } from "./events.forwards.ts";
import type { OperatedEventPage, PresentedOperatedEvent } from "./events.operator.contract.ts";
import { createOperatorPresenter } from "./events.operator.reading.ts";

/** What an operator follows. */
export interface Following {
  readonly appid: string;
  /** A cursor, `start` or `end`. */
  readonly after: string;
  readonly pageSize: number;
  readonly waitSeconds: number;
  fits(event: PlacedEvent): boolean;
}

/** Reads the log of an application forwards, for systems of operators (spec/events#follow-the-log). */
export async function followEvents(
  caller: OperatorCaller,
  { appid, after, pageSize, waitSeconds, fits }: Following,
  call: Call,
  services: Services,
): Promise<Static<typeof OperatedEventPage>> {
  const { config, database, paging, eventLog, dispatcher, streams, clock } = services;
  const wanted = sizeToReserve(pageSize, waitSeconds, config.pageItemsMax);
  const { size } = await paging.read(`events of ${appid}`, caller, { pageSize: wanted }, call);
  const given = after === "start" || after === "end" ? undefined : openCursor(appid, after, eventLog);
  const end = await eventLog.findEnd(appid);
  const isReset = given !== undefined && (await eventLog.findGap(appid, given, end)) !== undefined;
  if (after === "end") return { pageResults: [], currentToken: eventLog.seal(appid, end) };
  const start = given === undefined || isReset ? await findStart(appid, end, eventLog) : given;
  if (isReset) return { pageResults: [], currentToken: eventLog.seal(appid, start), isReset };
  const page = await readForwards<PresentedOperatedEvent>(
    start,
    end,
    {
      ...{ applicationId: appid, size, waitSeconds, call },
      createPresenter() {
        const present = createOperatorPresenter({ caller, outer: call, locations: "true" }, { dispatcher });
        return async (event) => (fits(event) ? present(event) : undefined);
      },
      async confirm() {
        const session = await findOperatorBySession(caller.sessionId, database.reads);
        if (session === undefined || session.expires_at <= clock.now()) throw new ApiError("AuthFailed");
        await requireApplication(appid, database.reads);
      },
      take: () => streams.take(caller),
    },
    services,
  );
  const currentToken = eventLog.seal(appid, page.cursor);
  return { pageResults: page.events, currentToken, ...(page.hasMore && { nextToken: currentToken }) };
}

/** The position before the oldest event that is stored. */
async function findStart(appid: string, end: Cursor, eventLog: Services["eventLog"]): Promise<Cursor> {
  const [oldest] = await eventLog.list(appid, 0, 1);
  return oldest === undefined ? end : { log: end.log, position: oldest.position - 1, id: "" };
}
