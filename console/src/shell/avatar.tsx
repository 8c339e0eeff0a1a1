import { queryOptions, useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useRef } from "react";
import { type OperatedUser, readOperatedPictureFile } from "../api/admin.ts";
import { download } from "../api/send.ts";
import { createTurns } from "../lib/turns.ts";
import { useSeen } from "../lib/use-seen.ts";
import styles from "./avatar.module.css";

interface AvatarProps {
  readonly appid: string;
  readonly user: Pick<OperatedUser, "id" | "userName" | "firstName" | "lastName" | "profilePictureID">;
  readonly size?: "small" | "large";
}

/** The profile picture of a user; the initials until it is loaded, and in place of one that is missing or damaged. */
export function Avatar({ appid, user, size = "small" }: AvatarProps) {
  const frame = useRef<HTMLSpanElement>(null);
  const isSeen = useSeen(frame);
  const pictureId = user.profilePictureID;
  const { data: picture } = useQuery({
    ...pictureQuery(appid, pictureId ?? ""),
    enabled: isSeen && pictureId !== undefined,
  });
  return (
    <span ref={frame} className={`${styles.avatar} ${styles[size]}`} data-hue={hueOf(user.id)} aria-hidden="true">
      {picture === undefined ? initialsOf(user) : <Drawing picture={picture} />}
    </span>
  );
}

/** Drawn, so that an animated picture does not move. */
function Drawing({ picture }: { readonly picture: ImageBitmap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const side = Math.min(picture.width, picture.height);
  useLayoutEffect(() => {
    const [x, y] = [(side - picture.width) / 2, (side - picture.height) / 2];
    canvas.current?.getContext("2d")?.drawImage(picture, x, y);
  }, [picture, side]);
  return <canvas ref={canvas} width={side} height={side} />;
}

/** One size for all places, so that the server scales a picture once. It stores sizes that are multiples of 16. */
const pictureSize = "96";
const keptMs = 60_000;
/** Fewer than the connections of a browser, so that pages of a list do not wait for pictures. */
const takeTurn = createTurns(4);

function pictureQuery(appid: string, pictureId: string) {
  return queryOptions({
    queryKey: ["picture", appid, pictureId],
    queryFn: ({ signal }) =>
      takeTurn(signal, async () => {
        const call = readOperatedPictureFile(appid, pictureId, { size: pictureSize });
        return createImageBitmap(await download(call, { signal, isPolling: true }));
      }),
    staleTime: Number.POSITIVE_INFINITY, // another picture has another id
    gcTime: keptMs,
    retryOnMount: false,
    structuralSharing: false,
  });
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** Without control characters and direction marks. */
const visible = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;

function initialsOf({ userName, firstName = "", lastName = "" }: AvatarProps["user"]): string {
  const ofName = `${initialOf(firstName)}${initialOf(lastName)}`;
  return ofName === "" ? initialOf(userName) : ofName;
}

function initialOf(text: string): string {
  for (const { segment } of graphemes.segment(text)) if (visible.test(segment)) return segment.toUpperCase();
  return "";
}

const hues = 8;

/** The same colour for a user everywhere. */
function hueOf(id: string): number {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.charCodeAt(0)) % 65_536;
  return (sum % hues) + 1;
}
