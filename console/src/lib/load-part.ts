import { CallError } from "./call-error.ts";

/**
 * Loads a part of the console. While the server is away, the failure says so; if the server answers, a newer version has
 * replaced the part, and the router loads the page again.
 *
 * @throws CallError, or the failure of the import
 */
export function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  return load().catch(async (error: unknown) => {
    const answer = await fetch(document.baseURI, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
    if (answer?.ok === true) throw error;
    const message = "This page could not be loaded: the server cannot be reached. It is tried again by itself.";
    throw new CallError(0, { error: "Unreachable", message });
  });
}
