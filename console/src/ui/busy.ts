import { createContext } from "react";

/** Tells the dialog around a form that its call is running: a dialog stays until its answer. */
export const Busy = createContext<(isBusy: boolean) => void>(() => undefined);
