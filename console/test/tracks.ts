import { startThrowaway } from "rollcall/testing";
import { startThrowawayPostgres } from "../../scripts/throwaway-postgres.ts";
import { budgets } from "./budgets.ts";
import { callJourneys } from "./call-journeys.ts";
import { changeJourneys } from "./change-journeys.ts";
import { detailJourneys } from "./detail-journeys.ts";
import { findingJourneys, typingJourneys } from "./finding-journeys.ts";
import { firstStartJourney } from "./first-start-journey.ts";
import { type Hand, keyboard, mouse } from "./hand.ts";
import { interruptedJourneys } from "./interrupted-journeys.ts";
import { jobs } from "./jobs.ts";
import { journeys } from "./journeys.ts";
import { listJourney } from "./list-journey.ts";
import { looksInWindows, looksOnPhone } from "./looks.ts";
import { overviewJourney } from "./overview-journey.ts";
import { pageJourneys } from "./page-journeys.ts";
import { pictureJourney } from "./picture-journey.ts";
import { regionJourney } from "./region-journey.ts";
import { screenJourneys, traceJourney } from "./screen-journeys.ts";
import { security } from "./security.ts";
import { ownMachine, startOnPostgres, type TestServer } from "./servers.ts";
import type { Checks } from "./suite.ts";
import { waitingJourneys } from "./waiting-journeys.ts";

/** Checks that run one after the other, on their own server. */
export interface Track {
  readonly engine: "SQLite" | "PostgreSQL";
  start(): Promise<TestServer>;
  readonly parts: readonly { readonly name: string; readonly checks: Checks; readonly hand: Hand }[];
}

const tours: Checks = { ...journeys, ...findingJourneys, ...callJourneys, ...overviewJourney, ...screenJourneys };
const toursOfOneEngine: Checks = {
  ...pageJourneys,
  ...changeJourneys,
  ...interruptedJourneys,
  ...listJourney,
  ...pictureJourney,
  ...regionJourney,
  ...firstStartJourney,
  ...typingJourneys,
  ...detailJourneys,
  ...waitingJourneys,
  ...traceJourney,
};

const startForJobs = { SQLite: shareServer(startOnSqlite), PostgreSQL: startOnOwnPostgres };

/** Both tracks of looks show the same objects, which take some seconds to create. */
const startForLooks = shareServer(startOnSqlite);

function trackOfJobs(engine: Track["engine"], hand: Hand, checks: Checks): Track {
  return { engine, start: startForJobs[engine], parts: [{ name: `jobs ${hand.name}`, checks, hand }] };
}

/**
 * By keyboard on one engine: the keys depend only on the console. They take as long as two mice, so half of the jobs
 * are a track.
 */
const tracksOfJobs: readonly Track[] = [
  trackOfJobs("PostgreSQL", mouse, jobs),
  ...halvesOf(jobs).map((half) => trackOfJobs("SQLite", keyboard, half)),
  trackOfJobs("SQLite", mouse, jobs),
];

const otherTracks: readonly Track[] = [
  { engine: "SQLite", start: startForLooks, parts: [{ name: "looks", checks: looksInWindows, hand: mouse }] },
  { engine: "PostgreSQL", start: startOnOwnPostgres, parts: [{ name: "journeys", checks: tours, hand: mouse }] },
  {
    engine: "SQLite",
    start: startForLooks,
    parts: [
      { name: "looks", checks: looksOnPhone, hand: mouse },
      { name: "budgets", checks: budgets, hand: mouse },
    ],
  },
  {
    engine: "SQLite",
    start: startOnSqlite,
    parts: [{ name: "journeys", checks: { ...tours, ...toursOfOneEngine }, hand: mouse }],
  },
  { engine: "SQLite", start: startOnSqlite, parts: [{ name: "security", checks: security, hand: mouse }] },
];

/** One phase after the other: the jobs have the processors to themselves while their time is taken. */
export const tracksOfPhases: Readonly<Record<string, readonly Track[]>> = {
  "Jobs by mouse on both engines, and by keyboard on SQLite": tracksOfJobs,
  "Looks, journeys, budgets and security": otherTracks,
};

function halvesOf(checks: Checks): readonly Checks[] {
  const entries = Object.entries(checks);
  return [0, 1].map((half) => Object.fromEntries(entries.filter((_, index) => index % 2 === half)));
}

/** Tracks that run at the same time get one server, which starts with the first and stops with the last. */
function shareServer(start: () => Promise<TestServer>): () => Promise<TestServer> {
  let started: Promise<TestServer> | undefined;
  let tracksOfServer = 0;
  return async () => {
    tracksOfServer += 1;
    started ??= start();
    const server = await started;
    return {
      ...server,
      async stop() {
        tracksOfServer -= 1;
        if (tracksOfServer > 0) return;
        started = undefined;
        await server.stop();
      },
    };
  };
}

function startOnSqlite(): Promise<TestServer> {
  return startThrowaway({ env: { PASSWORD_HASH_MEMORY_KIB: "8", ...ownMachine } });
}

async function startOnOwnPostgres(): Promise<TestServer> {
  const postgres = await startThrowawayPostgres();
  const server = await startOnPostgres(postgres.url);
  return {
    ...server,
    async stop() {
      await server.stop();
      await postgres.stop();
    },
  };
}
