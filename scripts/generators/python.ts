import { writeFileSync } from "node:fs";
import path from "node:path";
import { execute, fetchPackages, type Generator, type Workplace } from "./tools.ts";

const packages = { clients: "rollcall_clients", operators: "rollcall_operators" } as const;

/** The media types of files: the generator knows octets alone. */
const configuration = {
  content_type_overrides: {
    "image/*": "application/octet-stream",
    "application/zip": "application/octet-stream",
    "application/x-ndjson": "application/octet-stream",
    "application/offset+octet-stream": "application/octet-stream",
  },
  post_hooks: [],
};

const client = `
import os, time
from ${packages.clients} import AuthenticatedClient, Client
from ${packages.clients}.api.check_ins import create_checkin, search_checkins
from ${packages.clients}.api.devices import register_device
from ${packages.clients}.api.users import create_user
from ${packages.clients}.models import CreateCheckinRequest, CreateUserRequest, RegisterDeviceRequest

url = os.environ["ROLLCALL_URL"]
application = {"appid": os.environ["ROLLCALL_APPID"], "appkey": os.environ["ROLLCALL_APPKEY"]}

def signed(token):
    return AuthenticatedClient(base_url=url, token=token, prefix="Bearer")

device = register_device.sync(client=Client(base_url=url), body=RegisterDeviceRequest(**application, platform="python"))
request = CreateUserRequest(username=f"py-{time.time_ns()}", password="correct horse")
user = create_user.sync(client=signed(device.result.access_token), body=request)
client = signed(user.result.access_token)
created = create_checkin.sync(client=client, body=CreateCheckinRequest(location="48.2082,16.3738", comment="Python"))
page = search_checkins.sync(client=client, user_id="me", page_size=10)
assert page.result.page_results[0].id == created.result.id
assert page.result.page_results[0].location.lat == 48.2082
`;

/** Imports every module of a package. */
export const importAll = (name: string) => `
import importlib, pkgutil
import ${name}
for module in pkgutil.walk_packages(${name}.__path__, "${name}."):
    importlib.import_module(module.name)
`;

/** A virtual environment with packages. @returns its Python. @throws Unavailable */
export async function installPython(folder: string, packages: readonly string[]): Promise<string> {
  await execute("python3", ["-m", "venv", "venv"], { folder });
  const python = path.join(folder, "venv/bin/python");
  await fetchPackages(python, ["-m", "pip", "install", "--quiet", ...packages], { folder });
  return python;
}

/** The client of openapi-python-client. */
export const pythonClient: Generator = {
  name: "openapi-python-client",
  programs: ["python3"],
  mayBeSkipped: true,
  async run({ folder, documents, server }: Workplace) {
    const python = await installPython(folder, ["openapi-python-client==0.29.1"]);
    writeFileSync(path.join(folder, "configuration.json"), JSON.stringify(configuration));
    for (const audience of ["clients", "operators"] as const) {
      const name = packages[audience];
      const given = ["--path", documents[audience], "--output-path", name];
      const options = ["--fail-on-warning", "--meta", "none", "--config", "configuration.json"];
      const output = await execute("venv/bin/openapi-python-client", ["generate", ...given, ...options], { folder });
      if (output.includes("WARNING")) throw new Error(output);
      await execute(python, ["-m", "compileall", "-q", name], { folder });
      await execute(python, ["-c", importAll(name)], { folder });
    }
    await execute(python, ["-c", client], { folder, environment: server });
  },
};
