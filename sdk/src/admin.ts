export * from "./generated/admin.ts";
export { type Admin, type AdminOptions, createAdmin } from "./parts/admin/admin.ts";
