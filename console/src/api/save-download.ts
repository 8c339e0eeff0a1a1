import type { Call } from "../../../sdk/src/wire/call.ts";
import type { Download } from "../../../sdk/src/wire/download.ts";
import { saveFile, saveFrom } from "../lib/save-file.ts";
import { addressOf, download } from "./send.ts";

/** Saves a file to the downloads of the browser, which loads it itself where it can. */
export async function saveDownload(call: Call<Download>, name: string): Promise<void> {
  if (!saveFrom(addressOf(call), name)) saveFile(await download(call), name);
}
