import type { Profile } from "../profiles.ts";

/** The rules of axe to apply: all of WCAG or, for further themes, only the colour rules. */
export type Rules = "all" | "colours";

/** A window in which each screen is examined. */
export interface View {
  readonly name: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: "light" | "dark";
  readonly hasPicture: boolean;
  readonly rules: Rules | undefined;
}

/** Views that one tab shows one after the other, without opening the screen again. */
export interface Tour {
  readonly name: string;
  readonly profile: Profile;
  readonly views: readonly [View, ...View[]];
}

const wide = { width: 1440, height: 900 };
const light = { colorScheme: "light", hasPicture: true, rules: "all" } as const;
const sizeAlone = { colorScheme: "light", hasPicture: false, rules: undefined } as const;

export const windows: Tour = {
  name: "in a window of each size and theme",
  profile: { viewport: wide },
  views: [
    { ...light, name: "wide-light", viewport: wide },
    { name: "wide-dark", viewport: wide, colorScheme: "dark", hasPicture: true, rules: "colours" },
    { ...light, name: "tablet-light", viewport: { width: 820, height: 1180 } },
    { ...sizeAlone, name: "200 % zoom of a wide window", viewport: { width: 720, height: 450 } },
    { ...sizeAlone, name: "320 px", viewport: { width: 320, height: 640 } },
  ],
};

export const phone: Tour = {
  name: "on a phone",
  profile: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  views: [{ ...light, name: "phone-light", viewport: { width: 390, height: 844 } }],
};
