const column = String.raw`"?\w+"?\."?application_id"?`;
const comparison = new RegExp(String.raw`(\S+)\s+\(*${column} = ${column}`, "g");
const builderComparison = /\.whereRef\(\s*"[\w.]*application_id"/g;

/**
 * The comparisons of an application with that of another row in an SQL statement, or in the source of one. Citus finds
 * the node of a subquery by a parameter, and not by way of another row; the condition of a join is found by either.
 */
export function findComparedApplications(text: string): string[] {
  const written = [...text.matchAll(comparison)].filter(([, word]) => word !== "on");
  return [...written, ...text.matchAll(builderComparison)].map(([found]) => found);
}
