import { Type } from "../http/schema.ts";
import { Text, WireDate } from "../http/wire.ts";

export const RegisterDevice = Type.Object({
  // Without bounds of their own: whatever is too long is a wrong id or a wrong key.
  appid: Text({ description: "Application id." }),
  appkey: Text({ description: "Application key." }),
  platform: Text({ maxLength: 256, description: "Client platform name." }),
  uniqueId: Type.Optional(
    Text({ maxLength: 256, description: "Random unique value: the same value is the same device." }),
  ),
});

/** The result of a registration (service.md "Device registration result"). */
export const DeviceRegistration = Type.Object({
  accessToken: Type.String({ description: "Device access token, opaque." }),
  accessTokenExpires: WireDate,
});
