// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Caller } from "../contract/route.ts";
import type { StreamSink } from "../contract/stream-result.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { Audience } from "./events.audience.ts";
import type { EventFilters } from "./events.contract.ts";
import { createFilter } from "./events.reading.ts";
import { EventStream, live } from "./events.stream.ts";
import { viewOf } from "./events.views.ts";

const applicationId = "app";
const users = ["usr_1", "usr_2", "usr_3"];
const devices = ["dev_1", "dev_2", "dev_3"];
const objects = [applicationId, ...users, ...devices, "chk_1", "chk_2"];
const types = ["checkin.created", "checkin.changed", "metadata.changed", "user.changed", "device.changed"];
const sink = { waitingBytes: 0 } as StreamSink; // never written to
const times = { expiresAt: 0, lastsUntil: 0 };

const callers = fc.record({
  userId: fc.option(fc.constantFrom(...users), { nil: undefined }),
  deviceId: fc.constantFrom(...devices),
  tokenId: fc.constantFrom("tok_1", "tok_2"),
});
const conditions: fc.Arbitrary<EventFilters> = fc.record(
  {
    types: fc.constantFrom("*", "checkin.*", "metadata.*,user.changed", "device.*"),
    userID: fc.constantFrom("me", ...users),
    objectID: fc.constantFrom("me", "app", "current", ...objects),
    visibility: fc.constantFrom("App" as const, "User" as const),
  },
  { requiredKeys: [] },
);
const meansItself = ({ userID, objectID }: EventFilters) => userID === "me" || objectID === "me";
const streams = fc
  .record({
    caller: callers,
    filters: fc.array(conditions, { minLength: 1, maxLength: 3 }),
    position: fc.constantFrom(live, 3, 7),
    isEnded: fc.boolean(),
    isRemoved: fc.boolean(),
  })
  .filter(({ caller, filters }) => caller.userId !== undefined || !filters.some(meansItself)); // a device token may not request "me"
const rows = fc.record({
  type: fc.constantFrom(...types),
  object_id: fc.constantFrom(...objects),
  user_id: fc.option(fc.constantFrom(...users)),
  slot: fc.option(fc.constantFrom("", ...users)),
  changed: fc.constantFrom("", "comment", "comment-"),
  was_shown: fc.constantFrom(0, 1),
  is_shown: fc.constantFrom(0, 1),
});

/** The reference implementation: evaluates each stream separately. */
function isConcerned(stream: EventStream, row: PlacedEvent): boolean {
  const { caller, filters, isEnded, position } = stream;
  if (isEnded || position >= row.position) return false;
  if (row.slot !== null && row.slot !== "" && row.slot !== caller.userId) return false;
  const view = viewOf(row, caller);
  return view !== undefined && filters.some((filter) => filter.matchesRow(row) && filter.matchesType(view.type));
}

// spec/events#views, spec/events#filters
describe("the recipients of an event", () => {
  it("are the streams that match it when each is evaluated separately, once each and with the same view", () => {
    fc.assert(
      fc.property(fc.array(streams, { maxLength: 12 }), fc.array(rows, { maxLength: 12 }), (given, events) => {
        const audience = new Audience();
        const open = given.map(({ caller, filters, position, isEnded }) => {
          const each = { ...caller, applicationId } as Caller; // the fields by which streams are grouped
          const stream = new EventStream(
            each,
            filters.map((filter) => createFilter(filter, each)),
            sink,
            times,
          );
          audience.add(Object.assign(stream, { position, isEnded }));
          return stream;
        });
        for (const [index, { isRemoved }] of given.entries()) {
          const [stream] = open.slice(index, index + 1);
          if (isRemoved && stream !== undefined) audience.delete(stream);
        }
        const left = open.filter((_, index) => given[index]?.isRemoved === false);
        assert.deepEqual([audience.size, [...audience]], [left.length, left]);
        for (const event of events) {
          const row = { ...event, application_id: applicationId, position: 5, key: null } as PlacedEvent; // the other columns are not read
          const found = audience.find(row);
          const concerned = found.flatMap((each) => each.streams);
          assert.deepEqual(new Set(concerned), new Set(left.filter((stream) => isConcerned(stream, row))));
          assert.equal(new Set(concerned).size, concerned.length);
          for (const { view, streams: recipients } of found) {
            for (const { caller } of recipients) assert.deepEqual(view, viewOf(row, caller));
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
