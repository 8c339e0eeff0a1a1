import { PageOf, pagingParameters } from "../http/paging.ts";
import { type Static, Type } from "../http/schema.ts";
import { WireDate } from "../http/wire.ts";
import { formatDate } from "../lib/dates.ts";
import type { LiveApplication } from "./applications.store.ts";

export const ListApplications = Type.Object(pagingParameters);

const Application = Type.Object({ id: Type.String(), name: Type.String(), created: WireDate });

export const ApplicationPage = PageOf(Application);

export function presentApplication({ application_id, name, created_at }: LiveApplication): Static<typeof Application> {
  return { id: application_id, name, created: formatDate(created_at) };
}
