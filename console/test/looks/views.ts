import type { Profile } from "../profiles.ts";

/** A window in which each screen is examined. */
interface View {
  readonly name: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: "light" | "dark";
  readonly hasPicture: boolean;
  /** Whether the rules of axe are applied. */
  readonly hasRules: boolean;
}

/** Views that one tab shows one after the other, without opening the screen again. */
export interface Tour {
  readonly name: string;
  readonly profile: Profile;
  readonly views: readonly [View, ...View[]];
}

const wide = { width: 1440, height: 900 };
const light = { colorScheme: "light", hasPicture: true, hasRules: true } as const;
const sizeAlone = { colorScheme: "light", hasPicture: false, hasRules: false } as const;

export const tours: readonly Tour[] = [
  {
    name: "in a window of each size and theme",
    profile: { viewport: wide },
    views: [
      { ...light, name: "wide-light", viewport: wide },
      { name: "wide-dark", viewport: wide, colorScheme: "dark", hasPicture: true, hasRules: true },
      { ...light, name: "tablet-light", viewport: { width: 820, height: 1180 } },
      { ...sizeAlone, name: "200 % zoom of a wide window", viewport: { width: 720, height: 450 } },
      { ...sizeAlone, name: "320 px", viewport: { width: 320, height: 640 } },
    ],
  },
  {
    name: "on a phone",
    profile: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    views: [{ ...light, name: "phone-light", viewport: { width: 390, height: 844 } }],
  },
];

export const views: readonly View[] = tours.flatMap((tour) => tour.views);
