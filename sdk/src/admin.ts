export * from "./generated/admin.ts";
export * from "./generated/operator-sessions.ts";
export { type Admin, type AdminOptions, createAdmin } from "./parts/admin/admin.ts";
