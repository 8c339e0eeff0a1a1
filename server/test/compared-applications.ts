const column = String.raw`"?\w+"?\."?application_id"?`;
const comparison = new RegExp(String.raw`(\S+)\s+\(*${column} = ${column}`, "g");
const builderComparison = /\.whereRef\(\s*"[\w.]*application_id"/g;

/**
 * Finds comparisons of an application id with that of another row in SQL or in its source. Citus routes a subquery by a
 * parameter but not by another row; it routes a join by either.
 */
export function findComparedApplications(text: string): string[] {
  const written = [...text.matchAll(comparison)].filter(([, word]) => word !== "on");
  return [...written, ...text.matchAll(builderComparison)].map(([found]) => found);
}
