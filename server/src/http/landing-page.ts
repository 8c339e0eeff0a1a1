import { successReply } from "../operations/envelope.ts";
import { prefersHtml } from "./accept.ts";
import type { RouteTable } from "./route-table.ts";
import { sendReply } from "./send-reply.ts";
import { type Page, pageSender } from "./web-page.ts";

/** The page at `/`: HTML for browsers, and the same content as JSON for other clients. */
export interface LandingPage {
  readonly html: Omit<Page, "path">;
  readonly result: Readonly<Record<string, string>>;
}

export function mountLandingPage(routes: RouteTable, { html, result }: LandingPage): void {
  const sendHtml = pageSender({ ...html, path: "/", vary: "Accept, Accept-Encoding" });
  const reply = successReply(200, JSON.stringify(result));
  routes.add(["GET", "HEAD"], "/", {
    async answer(exchange) {
      if (prefersHtml(exchange.headers.accept)) return sendHtml(exchange);
      exchange.setHeader("vary", "Accept");
      sendReply(exchange, reply);
    },
  });
}
