// The code of an app, compiled against the package as it is published. Each expected error is a promise of the types.
import { type Checkin, connect, createRollcall, ItemAlreadyExists, type Page } from "@rollcall/sdk";
import { createAdmin, searchOperatedUsers } from "@rollcall/sdk/admin";
import { createCheckin, createPicture, putMetadata } from "@rollcall/sdk/calls";
import { subscribe } from "@rollcall/sdk/events";
import { visitors } from "@rollcall/sdk/server";

const location = { lat: 48.2, lng: 16.37 };
const rollcall = createRollcall({ url: "https://api.example.com", appid: "app_1", appkey: "rk_1" });

export async function useTheClient(): Promise<void> {
  const checkin: Checkin = await rollcall.checkins.create({ location, comment: "Stephansplatz" });
  const created: Date = checkin.created;
  for await (const { id } of rollcall.checkins.search({
    near: { ...location, meters: 500 },
    created: { from: created },
  })) {
    const text: string = id;
    await rollcall.metadata.of(checkin).put("previous", text);
  }
  const page: Page<Checkin> = await rollcall.checkins.search({ tag: "lunch" });
  const items: readonly Checkin[] = page.items;
  const first: Promise<Page<Checkin>> = rollcall.checkins.search();
  const all: Checkin[] = await rollcall.checkins.search({}, { limit: 500 }).all();
  const known: number | undefined = await rollcall.metadata.ofMe().get<number>("count");
  // @ts-expect-error the value may be absent
  const sum: number = await rollcall.metadata.ofMe().get<number>("count");
  // @ts-expect-error an id is a text
  await rollcall.checkins.get(5);
  // @ts-expect-error a check-in has a location
  await rollcall.checkins.create({ comment: "nowhere" });
  // @ts-expect-error results are read-only
  checkin.comment = "changed";
  console.log(items, known, sum, await first, all);
}

export async function useBatches(): Promise<void> {
  const batch = rollcall.batch({ mode: "atomic" });
  const place = batch.add(createCheckin({ location }));
  batch.add(putMetadata(place.ref.id, "mood", { value: "good" }));
  // @ts-expect-error an upload cannot be in a batch
  batch.add(createPicture({ data: new Blob([]) }));
  const results = await batch.send();
  const checkin: Checkin = results.get(place);
  const outcome = results.outcome(place);
  if (outcome.ok) console.log(outcome.value.created, checkin.id);
  else console.log(outcome.error.outcome);
}

export async function useUsers(): Promise<void> {
  const ada = rollcall.as("usr_1");
  const batch = ada.batch();
  const place = batch.add(createCheckin({ location }));
  const checkin: Checkin = (await batch.send()).get(place);
  const again: Checkin = await ada.send(createCheckin({ location }));
  const { token, user } = await visitors(rollcall).signIn({ userName: "ada", password: "secret" });
  console.log(checkin.id, again.id, token, user.firstName);
}

export function useEvents(): void {
  const listener = { event: (): void => {} };
  subscribe(rollcall, { types: ["checkin.created", "user.*"] }, listener);
  // @ts-expect-error the type is misspelt
  subscribe(rollcall, { types: ["chekin.created"] }, listener);
  subscribe(rollcall, { types: ["*"] }, listener).stop();
}

export async function useErrors(): Promise<void> {
  try {
    await rollcall.signUp({ userName: "ada", password: "secret" });
  } catch (error) {
    if (!(error instanceof ItemAlreadyExists)) throw error;
    const name: "ItemAlreadyExists" = error.name;
    const ofClass: "ItemAlreadyExists" = ItemAlreadyExists.name;
    const status: number = error.status;
    console.log(name, ofClass, status);
  }
}

export async function useOthers(): Promise<void> {
  const admin = createAdmin({ url: "https://api.example.com" });
  await admin.signIn({ name: "ada", password: "secret" });
  for await (const { userName } of admin.pages(searchOperatedUsers("app_1", { email: "a@b.example" }))) {
    console.log(userName);
  }
  const { firstName } = await connect({ url: "https://api.example.com", token: "t" }).users.me();
  console.log(firstName);
}
