/** What one call reads of a log at most (spec/events#read-events). */
export const rowsPerLook = 10_000;
export const msPerLook = 200;
export const rowsPerStep = 500;
