import { createHash } from "node:crypto";
import { ApiError } from "../lib/errors.ts";

/** The algorithms of Upload-Checksum, with the length of each checksum in bytes. */
const algorithms: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, md5: 16 };

export const checksumAlgorithms = Object.keys(algorithms).join(",");

/** Compares the received bytes with the checksum from the client. */
export interface Checksum {
  update(chunk: Uint8Array): void;
  isRight(): boolean;
}

/**
 * Parses Upload-Checksum: an algorithm, and the checksum in base64.
 *
 * @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange
 */
export function readChecksum(header: string): Checksum {
  const [algorithm = "", text = "", ...more] = header.trim().split(/ +/);
  const expected = Buffer.from(text, "base64");
  if (more.length > 0 || text === "" || expected.toString("base64") !== text) {
    throw new ApiError("ParameterIncorrectFormat", "Upload-Checksum must be an algorithm and a checksum in base64.", {
      parameter: "Upload-Checksum",
    });
  }
  const length = Object.hasOwn(algorithms, algorithm) ? algorithms[algorithm] : undefined;
  if (length === undefined) {
    throw new ApiError(
      "ParameterOutOfRange",
      `The algorithm of Upload-Checksum must be one of ${checksumAlgorithms}.`,
      { parameter: "Upload-Checksum" },
    );
  }
  if (expected.length !== length) {
    throw new ApiError("ParameterOutOfRange", `A checksum of ${algorithm} has ${length} bytes.`, {
      parameter: "Upload-Checksum",
    });
  }
  const hash = createHash(algorithm);
  return {
    update: (chunk) => void hash.update(chunk),
    isRight: () => hash.digest().equals(expected),
  };
}
