import { createContext } from "react";

/**
 * Whether the row around is the one that a list has in the order of focus; undefined outside of lists. Controls of other rows
 * are left out of this order, so that a list is a few stops and not hundreds.
 */
export const ActiveRow = createContext<boolean | undefined>(undefined);
