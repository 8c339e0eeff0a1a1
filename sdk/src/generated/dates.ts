// Written by "npm run docs" from docs/openapi.json.
/** The members of results that are dates. */
export const dateMembers: ReadonlySet<string> = /* @__PURE__ */ new Set(
  "accessTokenExpires created dateOfBirth expires lastLogin lastModified lastUsed occurred".split(" "),
);
