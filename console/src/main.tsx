import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { CallError } from "./lib/call-error.ts";
import { shareEqual } from "./lib/share-equal.ts";
import { installTrustedTypes } from "./lib/trusted-types.ts";
import { createAppRouter } from "./routes.tsx";
import "./ui/tokens.css";

installTrustedTypes();

const retriesMax = 3;
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      structuralSharing: shareEqual,
      retry: (failures, error) => failures < retriesMax && isTemporary(error),
      retryDelay: (failures, error) => delayOf(error) ?? Math.min(60_000, 2000 * 2 ** failures),
    },
  },
});
// A query before the # is not part of a screen's address, and the router would add it to the parameters after the #.
if (window.location.search !== "")
  window.history.replaceState(window.history.state, "", window.location.pathname + window.location.hash);
const router = createAppRouter(queries);
// For the timelines of browsers' tools, and for tests that wait for the next screen.
router.subscribe("onRendered", () => {
  performance.clearMarks("screen");
  performance.mark("screen");
});
const element = document.getElementById("root");
if (element === null) throw new Error("The page has no #root.");
createRoot(element).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

function isTemporary(error: unknown): boolean {
  return error instanceof CallError && (error.status === 0 || error.status === 429 || error.status === 503);
}

function delayOf(error: unknown): number | undefined {
  const seconds = error instanceof CallError ? error.retryAfterSeconds : undefined;
  return seconds === undefined ? undefined : seconds * 1000;
}
