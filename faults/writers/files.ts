import { createHash, randomBytes } from "node:crypto";
import { dataPart, formHeaders, formOf } from "../../server/test/uploads.ts";
import type { Api } from "../api.ts";
import { HalfWritten, Register } from "../ledger.ts";
import type { Writer } from "../writer.ts";

/** Uploads files by forms, and deletes every other one. */
export const writeFiles: Writer = ({ ledger, newName }, { token }) => {
  let count = 0;
  return async (api) => {
    const name = newName();
    count += 1;
    const bytes = randomBytes(1_000 + (count % 8) * 12_000);
    const register = new Register(ledger, `file ${name}`, "absent", (api) => readFile(api, name, token));
    const body = formOf([{ name: "friendlyName", value: name }, dataPart(bytes)]);
    const upload = () => api.call("POST /blobs", { token, body, headers: formHeaders });
    const { id } = (await register.write(digestOf(bytes), upload)).body.result;
    if (count % 2 === 0) await register.write("absent", () => api.call(`DELETE /blobs/${id}`, { token }));
  };
};

export function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The digest of the bytes of the only file with a name, or "absent". */
export async function readFile(api: Api, name: string, token: string): Promise<string> {
  const { body } = await api.call(`GET /blobs?userID=me&friendlyName=${name}`, { token });
  const found: { id: string; contentHash: string; contentLength: number }[] = body.result.pageResults;
  const [file] = found;
  if (file === undefined) return "absent";
  if (found.length > 1) throw new HalfWritten(`is there ${found.length} times`);
  const { bytes } = await api.call(`GET /blobs/${file.id}/file`, { token });
  const digest = digestOf(bytes);
  if (digest !== file.contentHash) {
    throw new HalfWritten(`has ${bytes.length} of ${file.contentLength} bytes, or wrong ones: ${digest}`);
  }
  return digest;
}
