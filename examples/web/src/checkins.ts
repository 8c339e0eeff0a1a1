import { type Checkin, type Page, type Progress, type Rollcall, RollcallError } from "@rollcall/sdk";
import { createCheckin, putMetadata } from "@rollcall/sdk/calls";
import type { PlacesMap } from "./map.ts";
import { element, find, say, submit } from "./page.ts";

/** The metadata of a check-in that names its photo, and the tag of those that have one. */
const photoKey = "photo";

interface CheckinList {
  /** Reads the first page around the middle of the map. */
  refresh(): Promise<void>;
  clear(): void;
}

/** Lists the check-ins in the visible part of the map, and adds new ones. */
export function showCheckins(rollcall: Rollcall, map: PlacesMap): CheckinList {
  const list = element("list");
  const form = element("check-in", HTMLFormElement);
  let shown: Checkin[] = [];
  let page: Page<Checkin> | undefined;
  /** Ends the search of an older view. */
  let search = new AbortController();

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit(form, () => report("The check-in was not stored", checkIn));
  });
  const photo = element("photo", HTMLInputElement);
  form.addEventListener("change", showPhotoName);
  form.addEventListener("reset", () => setTimeout(showPhotoName));
  element("more").addEventListener("click", () => void report("The next page could not be read", more));
  map.onMove(() => rollcall.session && void refresh());

  async function checkIn(): Promise<void> {
    const fields = new FormData(form);
    const file = fields.get("photo");
    const pictureId = file instanceof File && file.size > 0 ? await upload(file) : undefined;
    const comment = `${fields.get("comment")}`.trim();

    // Both or neither: a check-in never names a photo that it does not have.
    const batch = rollcall.batch({ mode: "atomic" });
    const created = batch.add(
      createCheckin({
        location: map.middle(),
        readPermissions: "App",
        ...(comment !== "" && { comment }),
        ...(pictureId !== undefined && { tag: photoKey }),
      }),
    );
    if (pictureId !== undefined) {
      batch.add(putMetadata(created.ref.id, photoKey, { value: pictureId, visibility: "App" }));
    }
    await batch.send();
    form.reset();
    say("Checked in.");
    await refresh();
  }

  async function upload(file: File): Promise<string> {
    const bar = element("upload", HTMLProgressElement);
    bar.hidden = false;
    try {
      const onProgress = ({ done, total = 0 }: Progress) => {
        bar.value = total === 0 ? 0 : done / total;
      };
      return (await rollcall.pictures.create(file, { readPermissions: "App" }, { onProgress })).id;
    } finally {
      bar.hidden = true;
    }
  }

  async function refresh(): Promise<void> {
    search.abort();
    search = new AbortController();
    const { signal } = search;
    await report("The check-ins could not be read", async () => {
      const near = { ...map.middle(), meters: map.radiusMeters() };
      page = await rollcall.checkins.search({ near, sortOrder: "distance", pageSize: 20 }, { signal });
      shown = [...page.items];
      show();
    });
  }

  async function more(): Promise<void> {
    page = await page?.next();
    shown.push(...(page?.items ?? []));
    show();
  }

  function show(): void {
    list.replaceChildren(...shown.map(itemOf));
    element("empty").hidden = shown.length > 0;
    element("more").hidden = page?.tokens.next === undefined;
    map.show(shown);
  }

  function itemOf(checkin: Checkin): Node {
    const item = document.importNode(element("item", HTMLTemplateElement).content, true);
    find(item, ".comment", HTMLElement).textContent = checkin.comment ?? "Checked in";
    const time = find(item, "time", HTMLTimeElement);
    time.dateTime = checkin.created.toISOString();
    time.textContent = checkin.created.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    if (checkin.tag === photoKey) void showPhoto(checkin, find(item, "img", HTMLImageElement));
    const remove = find(item, ".remove", HTMLButtonElement);
    remove.hidden = checkin.userID !== rollcall.session?.userId;
    remove.addEventListener("click", () => {
      void report("The check-in could not be deleted", async () => {
        await rollcall.checkins.delete(checkin.id);
        await refresh();
      });
    });
    return item;
  }

  async function showPhoto({ id }: Checkin, image: HTMLImageElement): Promise<void> {
    await report("A photo could not be read", async () => {
      const pictureId = await rollcall.metadata.of(id).get<string>(photoKey, { visibility: "App" });
      if (pictureId === undefined) return;
      const picture = await rollcall.pictures.get(pictureId);
      image.src = rollcall.pictures.url(picture, { size: { w: 112, h: 112 } });
      image.hidden = false;
    });
  }

  function showPhotoName(): void {
    element("photo-name").textContent = photo.files?.[0]?.name ?? "Add a photo";
  }

  return {
    refresh,
    clear() {
      search.abort();
      shown = [];
      page = undefined;
      show();
      element("empty").hidden = true;
    },
  };
}

/** Shows the reader the refusal of the service, but no aborted call, because no code waits for it. */
async function report(failure: string, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    if (error.name !== "AbortError") say(`${failure}: ${error.message}`, "bad");
  }
}
