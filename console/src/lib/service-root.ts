/** The address of the API of apps: two folders above the console, behind any proxy. */
export function serviceRoot(): string {
  return new URL("../..", document.baseURI).href.replace(/\/$/, "");
}
