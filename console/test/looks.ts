import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { contentOf, type Ids } from "./looks/content.ts";
import { examine, openScreen } from "./looks/examine.ts";
import { findFocusProblems } from "./looks/focus.ts";
import { type Screen, screens } from "./looks/screens.ts";
import { phone, type Tour, windows } from "./looks/views.ts";
import { type Checks, type Setup, signIn } from "./suite.ts";

/** Separate windows, so that one loads while the other draws; the browser throttles background tabs. */
const windowsOfTour = 2;

export const looksInWindows: Checks = checksOf(windows);

export const looksOnPhone: Checks = {
  ...checksOf(phone),
  "what has the focus is in sight and has a ring, in forced colours, too": findFocusProblems,
};

function checksOf(tour: Tour): Checks {
  return {
    [`every screen is accessible, fits and stands still: ${tour.name}`]: (setup) => examineScreens(setup, tour),
  };
}

/** The names of the views with a picture, which end the names of the pictures. */
export const lookNames = [...windows.views, ...phone.views]
  .filter(({ hasPicture }) => hasPicture)
  .map(({ name }) => name);

async function examineScreens(setup: Setup, tour: Tour): Promise<void> {
  const { server, open, openSession } = setup;
  const ids = await contentOf(server);
  const profile = { ...tour.profile, bypassCSP: true }; // only for axe
  const first = await open(profile);
  const problems = await examine(first, "sign-in", tour, setup);
  await signIn(first, server);
  const others = Array.from({ length: windowsOfTour - 1 }, () => openSession(profile));
  const waiting = [...screens];
  const found = [first, ...(await Promise.all(others))].map((window) => examineNext(window, waiting, ids, tour, setup));
  problems.push(...(await Promise.all(found)).flat());
  assert.deepEqual(problems, []);
}

/** Examines screens in one window until none is left. */
async function examineNext(page: Page, waiting: Screen[], ids: Ids, tour: Tour, setup: Setup): Promise<string[]> {
  const problems: string[] = [];
  page.on("dialog", (dialog) => void dialog.accept()); // the prompt about unsaved input
  for (let screen = waiting.shift(); screen !== undefined; screen = waiting.shift()) {
    await openScreen(page, setup.server.url, screen, ids);
    problems.push(...(await examine(page, screen.name, tour, setup)));
  }
  return problems;
}
