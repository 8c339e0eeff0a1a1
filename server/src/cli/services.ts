import { createUserExporters } from "../app/user-exporters.ts";
import { createAudit } from "../audit/audit.ts";
import { createPasswords } from "../auth/passwords.ts";
import { createRevocations } from "../auth/revocations.ts";
import type { Config } from "../config/config.ts";
import { createLog } from "../config/log.ts";
import { openSecrets } from "../config/server-secret.ts";
import { createPaging } from "../contract/paging.ts";
import type { Database } from "../db/database.ts";
import { findRecordedSecret } from "../db/deployment-facts.ts";
import { createEventRecorder } from "../event-log/recorder.ts";
import { createLookUp } from "../http/outgoing/look-up.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { createJobs } from "../jobs/job.ts";
import { createClock } from "../lib/clock.ts";
import { createIdGenerator } from "../lib/ids.ts";
import { newServerSecret } from "../lib/secrets.ts";
import { createSaltedHashes } from "../metrics/engine/salted-hashes.ts";
import type { CommandServices } from "../operations/services.ts";
import { openByteStore } from "../storage/open.ts";
import { createPolicies } from "../tenancy/policies.ts";
import { createSettingsSealer } from "../tenancy/sealed-settings.ts";

/** A silent log, because commands print failures themselves. */
export const log = createLog("silent", { write() {} });

/**
 * Creates the services of a command. The secrets and the file store are opened at their first use, because both may create a
 * file or a folder, and most commands need only the database.
 */
export async function createCommandServices(config: Config, database: Database): Promise<CommandServices> {
  const recordedSecret = await findRecordedSecret(database);
  const clock = createClock();
  const ids = createIdGenerator(() => clock.now());
  const secrets = once(() => openSecrets(config, recordedSecret));
  const openStore = once(() => openByteStore(config));
  const bytes: CommandServices["bytes"] = {
    read: async (key, range) => (await openStore()).read(key, range),
    deleteAll: async (prefix, signal) => (await openStore()).deleteAll(prefix, signal),
  };
  const policies = once(() => createPolicies({ secrets: secrets(), database }));
  const settingsSealer = once(() => createSettingsSealer(secrets()));
  const userExporters = once(() =>
    createUserExporters({ database, bytes, saltedHashes: createSaltedHashes(secrets()), clock }),
  );
  const events = createEventRecorder({ database, clock, ids });
  return {
    audit: createAudit({ database, clock, ids, jobs: createJobs({ database, clock, log }) }),
    background: { run() {} }, // the command does the background work itself, and reports its progress
    bytes,
    clock,
    config,
    database,
    events,
    ids,
    outgoing: createOutgoing(config, { lookUp: createLookUp() }),
    paging: createPaging({ ...config, secrets: [newServerSecret()] }), // page tokens never leave this process
    passwords: createPasswords(config, database),
    revocations: createRevocations({ invalidateTokenCache() {} }, events), // a command has no cache, and servers poll the database
    get policies() {
      return policies();
    },
    get settingsSealer() {
      return settingsSealer();
    },
    get userExporters() {
      return userExporters();
    },
  };
}

/** @returns a function that creates the value at its first call and caches it */
function once<Value>(create: () => Value): () => Value {
  let created: { readonly value: Value } | undefined;
  return () => {
    created ??= { value: create() };
    return created.value;
  };
}
