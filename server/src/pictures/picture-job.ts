/** In pixels. */
export interface PictureSize {
  readonly w: number;
  readonly h: number;
}

/** What is asked of the process that decodes. */
export type PictureJob =
  | { readonly kind: "size" }
  | { readonly kind: "scale"; readonly contentType: string; readonly fit: PictureSize }
  | { readonly kind: "strip"; readonly contentType: string };

/** What it answers: the size of the picture, or of the one it has made; or what is wrong with the picture. */
export type PictureAnswer = PictureSize | { readonly refusal: string };

/** The compressed bytes are in the memory of the process that decodes, one picture's at a time. */
export const pictureBytesMax = 64 * 1_024 * 1_024;

/** Of a picture that is made: the server has it in memory until it is stored or sent. */
export const madeBytesMax = 256 * 1_024 * 1_024;

/** The last of all: it gets the processor time that nobody else wants. */
export const decoderPriority = 19;
