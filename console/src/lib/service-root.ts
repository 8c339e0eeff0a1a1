/** The address of the API of apps: the console lies two folders below it, behind whatever proxy. */
export const serviceRoot = new URL("../..", document.baseURI).href.replace(/\/$/, "");
