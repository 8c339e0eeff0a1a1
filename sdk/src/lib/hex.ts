/** Bytes as hexadecimal digits. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Sixteen random bytes. */
export function randomBytes(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(16));
}
