/** Connects the page's parts with one client: the signed-in user decides what every tab shows. */
import { createRollcall, RollcallError } from "@rollcall/sdk";
import { showCheckins } from "./checkins.ts";
import { createMap } from "./map.ts";
import { element, say } from "./page.ts";
import { listenForSignIn } from "./sign-in.ts";

/** The answer of `serve.ts`: the address of the service, and the application's credentials. */
interface Configuration {
  readonly url: string;
  readonly appid: string;
  readonly appkey: string;
}

const configuration: Configuration = await (await fetch("/configuration.json")).json();
const rollcall = createRollcall({ ...configuration, device: { appVersion: "1.0.0" } });
const map = createMap(element("map"));
const checkins = showCheckins(rollcall, map);

listenForSignIn(rollcall);
element("sign-out").addEventListener("click", () => void rollcall.session?.signOut());

// Another tab that signs in or out notifies this one.
for (const event of ["signedIn", "signedOut", "sessionEnded", "sessionChanged"] as const)
  rollcall.on(event, showSession);
rollcall.on("sessionEnded", () => say("Your session has ended. Please sign in again."));
rollcall.on("warning", ({ message }) => console.warn(message));

try {
  await rollcall.ready();
} catch (error) {
  if (!(error instanceof RollcallError)) throw error;
  say(`The service cannot be reached: ${error.message}`, "bad");
}
showSession();

function showSession(): void {
  const { session } = rollcall;
  const isSignedIn = session !== undefined && session !== null;
  element("account").hidden = !isSignedIn;
  element("name").textContent = session?.userName ?? "";
  element("sign-in").hidden = isSignedIn;
  for (const id of ["check-in", "crosshair", "nearby"]) element(id).hidden = !isSignedIn;
  if (isSignedIn) void checkins.refresh();
  else checkins.clear();
}
