import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Which of a user's pictures is the profile picture, and whether others see it. */
export const profilePictures: Migration = {
  name: "0012-profile-pictures",
  statements: ({ text, integer }) => [
    sql`alter table users add column profile_picture_id ${text}`,
    sql`alter table users add column is_picture_shared ${integer} not null default 0`,
  ],
};
