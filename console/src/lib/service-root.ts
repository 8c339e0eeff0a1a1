/** The address of the API of apps: the console lies two folders below it, behind whatever proxy. */
export function serviceRoot(): string {
  return new URL("../..", document.baseURI).href.replace(/\/$/, "");
}
