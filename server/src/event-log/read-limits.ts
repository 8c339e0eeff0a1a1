/** The maximum that one call reads of a log (spec/events#read-events). */
export const rowsPerRead = 10_000;
export const msPerRead = 200;
export const rowsPerStep = 500;
