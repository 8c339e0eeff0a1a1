/** Passes a file to the browser's downloads, without opening it in a page. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  follow(address, name);
  URL.revokeObjectURL(address);
}

/**
 * Lets the browser download an address of the API, which holds no file in memory.
 *
 * @returns false if the browser does not report which page requests it, and the server refuses the cookie: without TLS,
 * from another machine
 */
export function saveFrom(address: string, name: string): boolean {
  if (!window.isSecureContext) return false;
  follow(address, name);
  return true;
}

function follow(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
