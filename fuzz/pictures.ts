/** The smallest valid picture: a GIF of one pixel. The marker after its end is ignored by decoders. */
export function tinyPicture(text = ""): Buffer {
  return Buffer.concat([Buffer.from("R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=", "base64"), Buffer.from(text)]);
}

/** A PNG of two pixels. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADElEQVQI12NgYGAAAAAEAAEnNCcKAAAAAElFTkSuQmCC",
  "base64",
);
