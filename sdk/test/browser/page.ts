import { getDevice, getOwnUser } from "../../src/generated/calls.ts";
import { indexedDbStore } from "../../src/identity/indexed-db-store.ts";
import { createRollcall } from "../../src/rollcall.ts";
import { storeRules } from "../store-rules.ts";

/** What the suite uses in a page. */
const pageKit = {
  createRollcall,
  getDevice,
  getOwnUser,
  indexedDbStore,
  storeRules,
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
