/** The heap after calls of a client whose answers come from memory, so that only the client counts. A worker. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createCheckin, getCheckin } from "../../sdk/src/generated/calls.ts";
import { connect } from "../../sdk/src/nouns/connect.ts";
import { answerRequests } from "../../testkit/worker.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const answer = JSON.stringify({ status: 200, result: { id: "chk_1" }, request_id: "req_1", success: true });
const client = connect({
  url: "https://service.example",
  token: "token",
  fetch: async () => new Response(answer),
});

let made = 0;

/** Makes calls up to this number, and returns the bytes in the heap. */
answerRequests(async ({ calls }: { calls: number }) => {
  for (; made < calls; made += 2) {
    await client.send(getCheckin("chk_1"));
    await client.send(createCheckin({ location: { lat: 48.2, lng: 16.4 } }));
  }
  collectGarbage();
  return process.memoryUsage().heapUsed;
});
