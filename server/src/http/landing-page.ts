import type { FastifyInstance } from "fastify";
import { sendReply, successReply } from "./envelope.ts";
import { type Page, pageSender, prefersHtml } from "./web-page.ts";

/** The page at the root: HTML for browsers, and the same content as JSON for other clients. */
export interface LandingPage {
  readonly html: Omit<Page, "path">;
  readonly result: Readonly<Record<string, string>>;
}

export function mountLandingPage(server: FastifyInstance, { html, result }: LandingPage): void {
  const sendHtml = pageSender({ ...html, path: "/", vary: "Accept, Accept-Encoding" });
  const reply = successReply(200, JSON.stringify(result));
  server.get("/", { exposeHeadRoute: true }, async (request, answer) => {
    if (prefersHtml(request.headers.accept)) return sendHtml(request, answer);
    answer.header("vary", "Accept");
    sendReply(answer, reply);
    return answer;
  });
}
