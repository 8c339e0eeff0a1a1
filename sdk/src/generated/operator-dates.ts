// Written by "npm run docs" from docs/openapi.operators.json.
/** The members of results for operators that are dates, beside those of the application API. */
export const operatorDateMembers: ReadonlySet<string> = /* @__PURE__ */ new Set(
  "at changed date disabled ends failed finished firstSeen from heard lastFailure lastRegistered lastSeen lastSuccess nextAttempt previousEnds proved received registered reopened retired since start suspended time timestamp to".split(" "),
);
