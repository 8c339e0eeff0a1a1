import { changeDevice, createCrashReport, getDevice } from "../generated/calls.ts";
import type { ChangeDeviceRequest, CrashReport, CreateCrashReportRequest, Device } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Send } from "./send.ts";

/** The device on which the app runs. */
export interface DeviceNoun {
  get(options?: CallOptions): Promise<Device>;
  change(facts: ChangeDeviceRequest, options?: CallOptions): Promise<Device>;
  reportCrash(input: CreateCrashReportRequest, options?: CallOptions): Promise<CrashReport>;
}

export function createDeviceNoun(send: Send): DeviceNoun {
  return {
    get: (options) => send(getDevice(), options),
    change: (facts, options) => send(changeDevice(facts), options),
    reportCrash: (input, options) => send(createCrashReport(input), options),
  };
}
