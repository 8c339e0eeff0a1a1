export { type NodeFacts, nodeFacts } from "./parts/node/facts.ts";
export { fileSource } from "./parts/node/file-source.ts";
export { fileStore } from "./parts/node/file-store.ts";
