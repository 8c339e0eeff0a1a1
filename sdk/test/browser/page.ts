import { type SubscribeOptions, type Subscription, subscribe } from "../../src/events.ts";
import { getDevice, getOwnUser } from "../../src/generated/calls.ts";
import { indexedDbStore } from "../../src/identity/indexed-db-store.ts";
import { createRollcall } from "../../src/rollcall.ts";
import { ServiceError } from "../../src/wire/errors.ts";
import { storeRules } from "../store-rules.ts";

/** The functions that the suite calls in a page. */
const pageKit = {
  createRollcall,
  getDevice,
  getOwnUser,
  indexedDbStore,
  storeRules,
  /**
   * The calls that the subscription of this tab has received: `ready`, `reset`, `end` with its error, the comment of a new
   * check-in, or another type of event.
   */
  told: [] as string[],
  subscription: undefined as Subscription | undefined,
  follow(options: SubscribeOptions) {
    const { client, told } = pageKit;
    if (client === undefined) return;
    pageKit.subscription = subscribe(client, options, {
      event: (event) => void told.push(event.type === "checkin.created" ? `${event.object?.comment}` : event.type),
      ready: () => void told.push("ready"),
      reset: () => void told.push("reset"),
      end: (error) => void told.push(`end ${error instanceof ServiceError ? error.name : error}`),
    });
  },
  deleteDatabase: () =>
    new Promise<void>((resolve, reject) => {
      const request = indexedDB.deleteDatabase("rollcall");
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error);
    }),
  /** The client of this tab. */
  client: undefined as ReturnType<typeof createRollcall> | undefined,
};

declare global {
  var kit: PageKit;
}

export type PageKit = typeof pageKit;

globalThis.kit = pageKit;
