export { type Hmac, type SigningOptions, signing } from "./parts/signing/signing.ts";
