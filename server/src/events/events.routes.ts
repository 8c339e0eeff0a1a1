import { operation } from "../operations/operation.ts";
import { EventPage, ListEvents, type PresentedEvent } from "./events.contract.ts";
import { openCursor, readForwards, sizeToReserve } from "./events.forwards.ts";
import { createPresenter } from "./events.reading.ts";

const listEvents = operation({
  method: "GET",
  path: "/events",
  operation: "listEvents",
  summary: "Read the changes since an earlier call",
  description: "Returns the changes that the caller may see, in their order. The first call has no `after`.",
  tag: "Events",
  caller: "device",
  parameters: ListEvents,
  status: 200,
  result: EventPage,
  errors: ["AuthUserAccessTokenRequired"],
  async handle({ caller, parameters, call }, services) {
    const { paging, eventLog, config } = services;
    const { applicationId } = caller;
    const { after, pageSize = config.pageItemsDefault, waitSeconds = 0, ...filters } = parameters;
    const wanted = sizeToReserve(pageSize, waitSeconds, config.pageItemsMax);
    const { size } = await paging.read("events", caller, { pageSize: wanted }, call);
    createPresenter(filters, caller, call, services); // refuses invalid patterns before the log is read
    const cursor = after === undefined ? undefined : openCursor(applicationId, after, eventLog);
    const end = await eventLog.findEnd(applicationId);
    if (cursor === undefined) return { pageResults: [], currentToken: eventLog.seal(applicationId, end) };
    if ((await eventLog.findGap(applicationId, cursor, end)) !== undefined) {
      return { pageResults: [], currentToken: eventLog.seal(applicationId, end), isReset: true as const };
    }
    let current = caller;
    const page = await readForwards<PresentedEvent>(
      cursor,
      end,
      {
        ...{ applicationId, size, waitSeconds, call },
        createPresenter: () => createPresenter(filters, current, call, services),
        async confirm() {
          current = await services.dispatcher.confirm(call);
        },
        acquire: () => services.streams.acquire(caller),
      },
      services,
    );
    services.streams.notePulled(page.events.length);
    const currentToken = eventLog.seal(applicationId, page.cursor);
    return { pageResults: page.events, currentToken, ...(page.hasMore && { nextToken: currentToken }) };
  },
});

/** Changes of an application's objects, for clients that keep a copy (spec/events). */
export const eventOperations = [listEvents];
