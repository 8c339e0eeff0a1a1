import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { contentOf, type Ids } from "./looks/content.ts";
import { examine, openScreen } from "./looks/examine.ts";
import { findFocusProblems } from "./looks/focus.ts";
import { type Screen, screens } from "./looks/screens.ts";
import { type Tour, tours, views } from "./looks/views.ts";
import { type Checks, type Setup, signIn } from "./suite.ts";

/** Tabs that share a sign-in and take turns on the processors: while one loads, the other draws. */
const tabsOfTour = 2;

export const looks: Checks = {
  ...Object.fromEntries(
    tours.map((tour) => [
      `every screen is accessible, fits and stands still: ${tour.name}`,
      (setup: Setup) => examineScreens(setup, tour),
    ]),
  ),
  "what has the focus is in sight and has a ring, in forced colours, too": findFocusProblems,
};

/** The names of the views with a picture, which end the names of the pictures. */
export const lookNames = views.filter(({ hasPicture }) => hasPicture).map(({ name }) => name);

async function examineScreens(setup: Setup, tour: Tour): Promise<void> {
  const { server, open } = setup;
  const ids = await contentOf(server);
  const first = await open({ ...tour.profile, bypassCSP: true, reducedMotion: "reduce" }); // for axe alone
  const problems = await examine(first, "sign-in", tour, setup);
  await signIn(first, server);
  const others = Array.from({ length: tabsOfTour - 1 }, () => first.context().newPage());
  const waiting = [...screens];
  const tabs = [first, ...(await Promise.all(others))];
  for (const found of await Promise.all(tabs.map((tab) => examineNext(tab, waiting, ids, tour, setup))))
    problems.push(...found);
  assert.deepEqual(problems, []);
}

/** Examines screens in one tab until none is left. */
async function examineNext(page: Page, waiting: Screen[], ids: Ids, tour: Tour, setup: Setup): Promise<string[]> {
  const problems: string[] = [];
  page.on("dialog", (dialog) => void dialog.accept()); // that asks whether to leave what was typed
  for (let screen = waiting.shift(); screen !== undefined; screen = waiting.shift()) {
    await openScreen(page, setup.server.url, screen, ids);
    problems.push(...(await examine(page, screen.name, tour, setup)));
  }
  return problems;
}
