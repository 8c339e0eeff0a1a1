import { ApiError } from "../lib/errors.ts";
import { FairQueue, type Ticket } from "../limits/fair-queue.ts";

/**
 * The purpose of decoding a picture: its size during an upload; a scaled or stripped variant for the holder of a token;
 * or the same for the holder of a signedUrl, which may have been shared with anyone.
 */
export type PictureLane = "upload" | "read" | "link";

export type PictureTicket = Ticket<PictureLane>;

/** The number of decoder processes; each may take 600 MB. */
export const decodersMax = 2;

/**
 * The queue for decoding pictures. A waiting job holds no file and negligible memory. One slot is reserved for uploads,
 * so that thumbnails delay no upload.
 */
export function createPictureQueue(): FairQueue<PictureLane> {
  return new FairQueue<PictureLane>({
    name: "decode picture",
    runningMax: decodersMax,
    lanes: {
      upload: { weight: 4, reserved: 1, waitingMax: 256, waitingPerApplicationMax: 128, waitingPerCallerMax: 16 },
      // Clients request all thumbnails of a page concurrently.
      read: { weight: 4, waitingMax: 256, waitingPerApplicationMax: 128, waitingPerCallerMax: 32 },
      link: { weight: 1, waitingMax: 128, waitingPerApplicationMax: 64, waitingPerCallerMax: 16 },
    },
    refuse: (reason) =>
      new ApiError(
        "ServiceUnavailable",
        reason === "full" ? "Too many pictures are waiting. Try again." : "The client no longer waits for the picture.",
      ),
  });
}
