import { useEffect } from "react";
import type { Icon } from "./icon.ts";

/** Something that an operator can do with an object: immediately, or after a dialog. */
export interface Act {
  readonly label: string;
  readonly icon?: Icon;
  readonly run: () => void;
}

interface Offer {
  /** The name of the object; read when the acts are listed. */
  readonly subject: () => string;
  readonly acts: readonly Act[];
  readonly isOfApplication: boolean;
}

interface OfferOptions {
  /** The acts concern all clients of the application, not the object of the screen. */
  readonly isOfApplication?: boolean;
}

const offers: Offer[] = [];

/** Offers the acts of a screen, or of the object that is selected in it, to the palette while the component is shown. */
export function useActs(
  subject: string | (() => string),
  acts: readonly Act[],
  { isOfApplication = false }: OfferOptions = {},
): void {
  useEffect(() => {
    const offer = { subject: typeof subject === "string" ? () => subject : subject, acts, isOfApplication };
    offers.push(offer);
    return () => void offers.splice(offers.indexOf(offer), 1);
  });
}

/** All acts of the page: first those of its objects, then those of the application, regardless of render order. */
export function listActs(): (Act & { readonly subject: string })[] {
  const ofObjects = offers.filter(({ isOfApplication }) => !isOfApplication);
  const ofApplication = offers.filter(({ isOfApplication }) => isOfApplication);
  return [...ofObjects, ...ofApplication].flatMap(({ subject, acts }) =>
    acts.map((act) => ({ ...act, subject: subject() })),
  );
}
