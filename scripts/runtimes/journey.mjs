/** The steps of an app in the runtime that runs this file: registration, users, a batch, files, signing, closing. */
import process from "node:process";
import { connect, createRollcall, ItemAlreadyExists, NotSignedIn } from "@rollcall/sdk";
import { createAdmin, putSigningSecret } from "@rollcall/sdk/admin";
import { createCheckin, putMetadata } from "@rollcall/sdk/calls";
import { fileStore, nodeFacts } from "@rollcall/sdk/node";
import { visitors } from "@rollcall/sdk/server";
import { signing } from "@rollcall/sdk/signing";

const { url, appid, appkey, operator } = JSON.parse(process.env.ROLLCALL_SERVER);
const ada = { userName: `ada ${crypto.randomUUID()}`, password: "correct horse" };
const location = { lat: 48.2, lng: 16.37 };

function assertEqual(actual, expected) {
  if (actual !== expected) throw new Error(`${actual} instead of ${expected}`);
}

const rollcall = createRollcall({ url, appid, appkey, store: fileStore("state"), device: nodeFacts() });
await rollcall.signUp(ada);
const taken = await rollcall.signUp(ada).catch((error) => error);
assertEqual(taken instanceof ItemAlreadyExists, true);
const session = await rollcall.signIn(ada);
const checkin = await rollcall.checkins.create({ location, comment: "Stephansplatz" });
assertEqual(checkin.created instanceof Date, true);
for await (const { comment } of rollcall.checkins.search({ userID: "me" })) assertEqual(comment, "Stephansplatz");
console.log("sign-in");

const batch = rollcall.batch({ mode: "atomic" });
const second = batch.add(createCheckin({ location }));
batch.add(putMetadata(second.ref.id, "mood", { value: "good", visibility: "User" }));
const { id } = (await batch.send()).get(second);
assertEqual(await rollcall.metadata.of(id).get("mood"), "good");
console.log("batch");

let isWhole = false;
const onProgress = ({ done, total }) => {
  isWhole = done === total;
};
const blob = await rollcall.blobs.create(new Blob(["x".repeat(200_000)]), {}, { onProgress });
assertEqual(blob.contentLength, 200_000);
assertEqual(isWhole, true);
const bytes = new TextEncoder().encode("streamed");
const open = () => new Blob([bytes]).stream();
assertEqual((await rollcall.blobs.create({ open, length: bytes.length })).contentLength, bytes.length);
console.log("upload");

const file = await rollcall.blobs.download(blob.id, { verify: true });
assertEqual((await file.text()).length, 200_000);
assertEqual(await (await rollcall.blobs.download(blob.id, { range: { from: 0, to: 3 } })).text(), "xxxx");
console.log("download");

const { token, root } = session.handoff();
assertEqual((await connect({ url, token, root }).users.me()).userName, ada.userName);
const visitor = await visitors(rollcall).signIn(ada);
await session.signOut();
assertEqual((await connect({ url, token: visitor.token, root: visitor.root }).users.me()).userName, ada.userName);
assertEqual((await rollcall.users.me().catch((error) => error)) instanceof NotSignedIn, true);
console.log("connect");

const admin = createAdmin({ url });
await admin.signIn(operator);
const secret = "sixteen letters!";
await admin.send(putSigningSecret(appid, { secret }));
await admin.signOut();
const signed = createRollcall({ url, appid, appkey, instance: "signed", store: fileStore("state") });
signing(signed, { secret });
await signed.signIn(ada);
assertEqual((await signed.users.me()).userName, ada.userName);
console.log("signing");

// The process ends by itself after this, unless a client keeps it running.
await Promise.all([rollcall.close(), signed.close()]);
admin.close();
console.log("closing");
