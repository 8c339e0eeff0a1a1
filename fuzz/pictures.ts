/** The smallest picture that there is: a GIF of one pixel, with a text of ours behind its end, which no reader minds. */
export function tinyPicture(text = ""): Buffer {
  return Buffer.concat([Buffer.from("R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=", "base64"), Buffer.from(text)]);
}

/** A PNG of two pixels. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADElEQVQI12NgYGAAAAAEAAEnNCcKAAAAAElFTkSuQmCC",
  "base64",
);
