import assert from "node:assert/strict";
import { it } from "node:test";
import { sniffPicture } from "./sniffing.ts";

function sniff(text: string): string | undefined {
  return sniffPicture(Buffer.from(text, "latin1"));
}

it("the six formats are recognized by their first bytes", () => {
  assert.equal(sniff("\xff\xd8\xff\xe0\0\x10JFIF"), "image/jpeg");
  assert.equal(sniff("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "image/png");
  assert.equal(sniff("GIF87a"), "image/gif");
  assert.equal(sniff("GIF89a"), "image/gif");
  for (const kind of ["VP8 ", "VP8L", "VP8X"]) assert.equal(sniff(`RIFF\n\r\0\0WEBP${kind}`), "image/webp");
  for (const brand of ["avif", "avis"]) assert.equal(sniff(`\0\0\0\x1cftyp${brand}\0\0\0\0mif1`), "image/avif");
  assert.equal(sniff("\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf"), "image/avif");
  for (const brand of ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]) {
    assert.equal(sniff(`\0\0\0\x18ftyp${brand}\0\0\0\0mif1heic`), "image/heic");
  }
  assert.equal(sniff("\0\0\0\x18ftypmif1\0\0\0\0mif1heic"), "image/heic");
  assert.equal(sniff("\0\0\0\x1cftypmif1\0\0\0\0avifheicmif1"), "image/heic");
});

it("other pictures, videos and text files are not recognized, even if the text contains a picture", () => {
  for (const text of [
    "",
    "GIF",
    "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "<?xml version='1.0'?><svg/>",
    "<!doctype html><script>alert(1)</script>",
    "\xef\xbb\xbf<html>",
    "<!-- -->\x89PNG\r\n\x1a\n",
    " \xff\xd8\xff",
    "GIF88a",
    "RIFF\0\0\0\0WAVEfmt ",
    "RIFF\0\0\0\0WEBPEXIF",
    "II*\0",
    "BM",
    "%PDF-1.7",
    "\0\0\0\x18ftypmp42\0\0\0\0isom",
    "\0\0\0\x18ftypmif1\0\0\0\0mif1jpeg",
    "\0\0\0\x14ftypmif1\0\0\0\0mif1avif", // the brand is after the end of the box
  ]) {
    assert.equal(sniff(text), undefined, JSON.stringify(text));
  }
});
