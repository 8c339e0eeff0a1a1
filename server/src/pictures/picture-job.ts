/** In pixels. */
export interface PictureSize {
  readonly w: number;
  readonly h: number;
}

/** A job for the decoder process. */
export type PictureJob =
  | { readonly kind: "size" }
  | { readonly kind: "scale"; readonly contentType: string; readonly fit: PictureSize }
  | { readonly kind: "strip"; readonly contentType: string };

/**
 * Its answer: the size of the picture or of the new one, or the reason for refusing the picture. `isUnscalable` stands
 * for an animation that would lose its frames.
 */
export type PictureAnswer = (PictureSize & { readonly isUnscalable?: true }) | { readonly refusal: string };

/** Compressed bytes of one picture, which the decoder process holds in memory. */
export const pictureBytesMax = 64 * 1_024 * 1_024;

/** Bytes of a new picture, which the server holds in memory until it is stored or sent. */
export const madeBytesMax = 256 * 1_024 * 1_024;

/** The lowest priority: decoding uses only otherwise idle processor time. */
export const decoderPriority = 19;
