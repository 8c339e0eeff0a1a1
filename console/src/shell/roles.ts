import type { OperatorRole } from "../api/admin.ts";

/** The roles with their permissions. */
export const roleTexts: Readonly<Record<OperatorRole, string>> = {
  viewer: "Viewer: reads everything",
  editor: "Editor: changes everything except operators",
  owner: "Owner: also manages operators, and deletes applications",
};
