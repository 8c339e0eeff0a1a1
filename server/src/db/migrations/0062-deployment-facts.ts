import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Facts on which all processes of a deployment agree (`db/deployment-facts.ts`). */
export const deploymentFacts: Migration = {
  name: "0062-deployment-facts",
  statements: ({ text, tableOptions }) => [
    sql`
      create table deployment_facts (
        name ${text} not null primary key,
        value ${text} not null
      ) ${tableOptions}`,
  ],
};
