// Written by "npm run docs" from docs/openapi.json.
/** The members of results that are dates. */
export const dateMembers: ReadonlySet<string> = /* @__PURE__ */ new Set(
  "accessTokenExpires at changed created date dateOfBirth disabled ends expires firstSeen from heard lastFailure lastLogin lastModified lastRegistered lastSeen lastSuccess lastUsed nextAttempt previousEnds proved received registered reopened retired since start suspended time timestamp to".split(" "),
);
