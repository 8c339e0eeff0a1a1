import type { RawParameters } from "../contract/call.ts";
import { ApiError } from "../lib/errors.ts";
import { decode, parseBody } from "../operations/body-parameters.ts";
import type { FormPart } from "./multipart.ts";

const parametersPart = "body";
const shownCharacters = 100;

interface ParameterPart {
  readonly name: string;
  /** As a text, which takes less memory than many small buffers: a character for each byte. */
  bytes: string;
  /** The Content-Type of the part. */
  readonly label: string | undefined;
}

/** The parts of a form that are parameters; together they may have `bytesMax`. */
export class FormParameters {
  readonly #parts: ParameterPart[] = [];
  readonly #bytesMax: number;
  readonly #fail: (error: ApiError) => void;
  #bytes = 0;

  constructor(bytesMax: number, fail: (error: ApiError) => void) {
    this.#bytesMax = bytesMax;
    this.#fail = fail;
  }

  receive({ name, label, bytes }: FormPart): void {
    const part: ParameterPart = { name: name ?? "", label, bytes: "" };
    if (name !== undefined) this.#parts.push(part);
    this.#bytes += Buffer.byteLength(part.name);
    bytes.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes <= this.#bytesMax) part.bytes += chunk.toString("latin1");
    });
    bytes.on("end", () => {
      if (this.#bytes <= this.#bytesMax) return;
      const message = `The parts other than data are larger than ${this.#bytesMax} bytes.`;
      this.#fail(new ApiError("RequestTooLarge", message));
    });
  }

  /** @throws ApiError ParameterIncorrectFormat */
  read(): RawParameters {
    return this.#parts.flatMap(({ name, bytes, label }) => {
      const text = decode(
        Buffer.from(bytes, "latin1"),
        label,
        `The part ${name.slice(0, shownCharacters).toWellFormed()}`,
      );
      return name.toLowerCase() === parametersPart
        ? [...parseBody(Buffer.from(text), undefined)]
        : [[name, text] as const];
    });
  }
}
