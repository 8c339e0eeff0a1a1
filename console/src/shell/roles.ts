import type { Role } from "../api/sessions.ts";

/** The roles with their permissions. */
export const roleTexts: Readonly<Record<Role, string>> = {
  viewer: "Viewer: reads everything",
  editor: "Editor: changes everything except operators",
  owner: "Owner: also manages operators, and deletes applications",
};
