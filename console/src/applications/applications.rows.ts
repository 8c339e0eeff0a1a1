import {
  type Application,
  type ListApplicationsQuery,
  listApplications,
  listApplicationsElsewhere,
  type RemoteApplication,
} from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { queryOf, send } from "../api/send.ts";

/** An application of this region, or one in another region. */
export type ApplicationRow =
  | { readonly id: string; readonly here: Application; readonly elsewhere?: never }
  | { readonly id: string; readonly elsewhere: RemoteApplication; readonly here?: never };

/** A state that the server lists only when it is requested. */
export const importingState = "importing";
/** The filter that shows only applications in other regions. */
export const elsewhereState = "elsewhere";
/** The order by calls, which lists only recently called applications. */
export const busiestFirst = "busiest";

/** The filters of the address. */
type ApplicationFilters = Readonly<Partial<Record<"sortOrder" | "state" | "namePrefix", string>>>;

/**
 * The applications of this region, and among them, by the time of their creation, those that are being imported and those
 * in other regions. Only the region of an application knows its name, so a search by name finds none of the latter. An
 * order by name has both last.
 */
export function useApplicationRows({ sortOrder, state, namePrefix }: ApplicationFilters, areSeveral: boolean) {
  const filters = { sortOrder, state, namePrefix };
  const isHere = !areSeveral || state !== elsewhereState;
  const isOfBoth = namePrefix === undefined && state === undefined && sortOrder !== busiestFirst;
  const isElsewhere = areSeveral && (isOfBoth || state === elsewhereState);
  const isImporting = state === undefined && sortOrder !== busiestFirst;
  const query = queryOf<ListApplicationsQuery>({ ...filters, include: "activity" });
  const here = usePages(
    ["applications", "list", filters],
    (page, options) => send(listApplications({ ...query, ...page }), options),
    { enabled: isHere },
  );
  const importing = usePages(
    ["applications", "importing", filters],
    (page, options) => send(listApplications({ ...query, state: importingState, ...page }), options),
    { enabled: isImporting },
  );
  const order = sortOrder === "-created" ? "-created" : "created";
  const elsewhere = usePages(
    ["applications", "elsewhere", order],
    (page, options) => send(listApplicationsElsewhere({ sortOrder: order, ...page }), options),
    { enabled: isElsewhere },
  );
  const parts = [...(isHere ? [here] : []), ...(isImporting ? [importing] : []), ...(isElsewhere ? [elsewhere] : [])];
  const arriving = isImporting ? importing.rows.map(rowHere) : [];
  const known = new Set(arriving.map(({ id }) => id)); // a completed import is also among the others
  const own = isHere ? here.rows.map(rowHere).filter(({ id }) => !known.has(id)) : [];
  const remote = isElsewhere ? elsewhere.rows.map(rowElsewhere).filter(({ id }) => !known.has(id)) : [];
  const [ofHere, ofImports, ofOthers] = [
    { rows: own, isWhole: !isHere || !here.hasNextPage },
    { rows: arriving, isWhole: !isImporting || !importing.hasNextPage },
    { rows: remote, isWhole: !isElsewhere || !elsewhere.hasNextPage },
  ];
  const isDescending = order === "-created";
  return {
    rows:
      sortOrder === "name"
        ? [...own, ...(ofHere.isWhole ? [...arriving, ...remote] : [])]
        : mergeParts(mergeParts(ofHere, ofImports, isDescending), ofOthers, isDescending).rows,
    newest: isHere ? here.newest.map(rowHere) : [],
    isPending: parts.some(({ isPending }) => isPending),
    isPlaceholderData: parts.some(({ isPlaceholderData }) => isPlaceholderData),
    error: parts.find(({ error }) => error !== null)?.error ?? null,
    hasNextPage: parts.some(({ hasNextPage }) => hasNextPage),
    isCut: parts.some(({ isCut }) => isCut),
    isFetchingNextPage: parts.some(({ isFetchingNextPage }) => isFetchingNextPage),
    fetchNextPage: () => forEachPart(({ hasNextPage, fetchNextPage }) => hasNextPage && fetchNextPage()),
    refetch: () => forEachPart(({ refetch }) => refetch()),
  };

  function forEachPart(run: (part: (typeof parts)[number]) => unknown): void {
    for (const part of parts) run(part);
  }
}

function rowHere(here: Application): ApplicationRow {
  return { id: here.id, here };
}

function rowElsewhere(elsewhere: RemoteApplication): ApplicationRow {
  return { id: elsewhere.id, elsewhere };
}

interface Part {
  readonly rows: readonly ApplicationRow[];
  readonly isWhole: boolean;
}

/** Merges two pages by their ids, which begin with the creation time, up to the end of the shorter page. */
function mergeParts(one: Part, other: Part, isDescending: boolean): Part {
  return { rows: mergeRows(one, other, isDescending), isWhole: one.isWhole && other.isWhole };
}

function mergeRows(one: Part, other: Part, isDescending: boolean): ApplicationRow[] {
  const isBefore = (id: string, other: string) => (isDescending ? id > other : id < other);
  const merged: ApplicationRow[] = [];
  let [ofOne, ofOther] = [0, 0];
  while (true) {
    const [next, nextOther] = [one.rows[ofOne], other.rows[ofOther]];
    if (next === undefined && (!one.isWhole || nextOther === undefined)) return merged;
    if (nextOther === undefined && !other.isWhole) return merged;
    if (next !== undefined && (nextOther === undefined || isBefore(next.id, nextOther.id))) {
      merged.push(next);
      ofOne += 1;
    } else if (nextOther !== undefined) {
      merged.push(nextOther);
      ofOther += 1;
    }
  }
}

/** The address of the application in the console of its region. */
export function consoleOf({ id, serviceRoot }: RemoteApplication): string | undefined {
  return serviceRoot === undefined ? undefined : `${serviceRoot}/_/console/#/apps/${id}/overview`;
}
