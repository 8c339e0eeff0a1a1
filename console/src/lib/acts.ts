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
}

const offers: Offer[] = [];

/** Offers the acts of a screen, or of the object that is selected in it, to the palette while the component is shown. */
export function useActs(subject: string | (() => string), acts: readonly Act[]): void {
  useEffect(() => {
    const offer = { subject: typeof subject === "string" ? () => subject : subject, acts };
    offers.push(offer);
    return () => void offers.splice(offers.indexOf(offer), 1);
  });
}

/** All acts of the page, the innermost components first. */
export function listActs(): (Act & { readonly subject: string })[] {
  return offers.flatMap(({ subject, acts }) => acts.map((act) => ({ ...act, subject: subject() })));
}
