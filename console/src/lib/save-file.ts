/** Hands a file to the browser's downloads. It is opened in no page. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
