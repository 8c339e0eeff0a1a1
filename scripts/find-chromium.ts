import { accessSync, constants } from "node:fs";
import path from "node:path";

/** The browser that CHROMIUM names, or the first one in the PATH. */
export function findChromium(): string | undefined {
  return process.env["CHROMIUM"] || findProgram(["chromium", "chromium-browser", "google-chrome"]);
}

function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
