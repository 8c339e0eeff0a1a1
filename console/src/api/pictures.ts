import { downloadOperation } from "./call.ts";

/** A picture, scaled to fit. Without `size` it would be the file as it was uploaded, which no screen shows. */
export const readPicture = downloadOperation<{
  readonly appid: string;
  readonly pictureId: string;
  readonly size: number;
}>("/applications/{appid}/pictures/{pictureId}/file", ["appid", "pictureId", "size"]);
