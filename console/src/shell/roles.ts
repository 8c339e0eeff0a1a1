import type { Role } from "../api/sessions.ts";

/** Each role, with what it may. */
export const roleTexts: Readonly<Record<Role, string>> = {
  viewer: "Viewer: reads everything",
  editor: "Editor: changes everything except operators",
  owner: "Owner: also manages operators, and deletes applications",
};
