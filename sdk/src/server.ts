export { type VisitorSession, type Visitors, visitors } from "./parts/server/visitors.ts";
