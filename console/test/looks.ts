import assert from "node:assert/strict";
import { contentOf } from "./looks/content.ts";
import { examine, openScreen } from "./looks/examine.ts";
import { screens } from "./looks/screens.ts";
import { windows } from "./looks/windows.ts";
import { type Checks, type Setup, signIn } from "./suite.ts";

const looksOfScreens = [
  { name: "wide-light", viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { name: "wide-dark", viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  { name: "tablet-light", viewport: { width: 820, height: 1180 }, colorScheme: "light" },
  { name: "phone-light", viewport: { width: 390, height: 844 }, colorScheme: "light", hasTouch: true, isMobile: true },
] as const;

export const looks: Checks = {
  ...Object.fromEntries(
    looksOfScreens.map((look) => [
      `every screen is accessible and fits: ${look.name}`,
      (setup: Setup) => checkScreens(setup, look),
    ]),
  ),
  ...windows,
};

/** The names of the looks, which end the names of the pictures. */
export const lookNames = looksOfScreens.map(({ name }) => name);

async function checkScreens(setup: Setup, { name, ...options }: (typeof looksOfScreens)[number]): Promise<void> {
  const { server, open } = setup;
  const ids = await contentOf(server);
  const page = await open({ ...options, bypassCSP: true, reducedMotion: "reduce" }); // for axe alone
  const problems = await examine(page, "sign-in", name, setup);
  await signIn(page, server);
  for (const screen of screens) {
    await openScreen(page, server.url, screen, ids);
    problems.push(...(await examine(page, screen.name, name, setup)));
  }
  assert.deepEqual(problems, []);
}
