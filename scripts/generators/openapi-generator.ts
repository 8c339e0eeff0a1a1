import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { importAll, installPython } from "./python.ts";
import { execute, fetchPackages, type Generator, type Workplace } from "./tools.ts";

const version = "7.25.0";

/** Messages of the generator about itself and about its languages, not about the document. */
const notices = [
  /OpenAPI 3\.1 support is still in beta/,
  /Failed to get the schema name: null/,
  /\(reserved word\) cannot be used as (?:model name|parameter name|filename)/,
];

/**
 * Generates a client of each document.
 * @returns their folders, that of the application API first
 * @throws Error with the warnings; Unavailable
 */
async function generate(
  language: string,
  { folder, documents }: Workplace,
  properties: readonly string[] = [],
): Promise<readonly [string, string]> {
  const artifact = `org.openapitools:openapi-generator-cli:${version}`;
  await fetchPackages("mvn", ["-q", "-B", "dependency:copy", `-Dartifact=${artifact}`, "-DoutputDirectory=."], {
    folder,
  });
  const jar = `openapi-generator-cli-${version}.jar`;
  for (const audience of ["clients", "operators"] as const) {
    const given = ["-g", language, "-i", documents[audience], "-o", audience, ...properties];
    const output = await execute("java", ["-jar", jar, "generate", ...given], { folder });
    const lines = output.split("\n").filter((line) => /\b(WARN|ERROR)\b/.test(line));
    const warnings = lines.filter((line) => !notices.some((notice) => notice.test(line)));
    if (warnings.length > 0) throw new Error(warnings.join("\n"));
  }
  return [path.join(folder, "clients"), path.join(folder, "operators")];
}

const pythonCalls = `
import os, time
from openapi_client import *

def client(token=None):
    configuration = Configuration(host=os.environ["ROLLCALL_URL"], access_token=token)
    return ApiClient(configuration)

appid, appkey = os.environ["ROLLCALL_APPID"], os.environ["ROLLCALL_APPKEY"]
request = RegisterDeviceRequest(appid=appid, appkey=appkey, platform="python")
device = DevicesApi(client()).register_device(request)
request = CreateUserRequest(username=f"og-{time.time_ns()}", password="correct horse")
user = UsersApi(client(device.result.access_token)).create_user(request)
checkins = CheckInsApi(client(user.result.access_token))
created = checkins.create_checkin(CreateCheckinRequest(location="48.2082,16.3738", comment="Python"))
page = checkins.search_checkins(user_id="me", page_size=10)
assert page.result.page_results[0].id == created.result.id
`;

const python: Generator = {
  name: "python",
  programs: ["java", "mvn", "python3"],
  mayBeSkipped: true,
  async run(workplace) {
    const folders = await generate("python", workplace);
    const [clients] = folders;
    const interpreter = await installPython(workplace.folder, ["-r", path.join(clients, "requirements.txt")]);
    for (const folder of folders) {
      await execute(interpreter, ["-m", "compileall", "-q", "openapi_client"], { folder });
      await execute(interpreter, ["-c", importAll("openapi_client")], { folder });
    }
    await execute(interpreter, ["-c", pythonCalls], { folder: clients, environment: workplace.server });
  },
};

const java: Generator = {
  name: "java",
  programs: ["java", "javac", "mvn"],
  mayBeSkipped: true,
  async run(workplace) {
    for (const folder of await generate("java", workplace)) {
      await fetchPackages("mvn", ["-q", "-B", "dependency:resolve"], { folder });
      await execute("mvn", ["-q", "-B", "compile"], { folder });
    }
  },
};

const kotlinProject = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rollcall</groupId><artifactId>client</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-stdlib</artifactId><version>2.2.20</version></dependency>
    <dependency><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-reflect</artifactId><version>2.2.20</version></dependency>
    <dependency><groupId>com.squareup.moshi</groupId><artifactId>moshi-kotlin</artifactId><version>1.15.2</version></dependency>
    <dependency><groupId>com.squareup.okhttp3</groupId><artifactId>okhttp-jvm</artifactId><version>5.1.0</version></dependency>
  </dependencies>
  <build>
    <sourceDirectory>src/main/kotlin</sourceDirectory>
    <plugins><plugin>
      <groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-maven-plugin</artifactId><version>2.2.20</version>
      <executions><execution><goals><goal>compile</goal></goals></execution></executions>
    </plugin></plugins>
  </build>
</project>
`;

const kotlin: Generator = {
  name: "kotlin",
  programs: ["java", "mvn"],
  mayBeSkipped: true,
  async run(workplace) {
    const options = ["--additional-properties=enumPropertyNaming=UPPERCASE"];
    for (const folder of await generate("kotlin", workplace, options)) await compileKotlin(folder);
  },
};

/** Compiles the sources in `src/main/kotlin` into `target/classes`. */
export async function compileKotlin(folder: string): Promise<void> {
  writeFileSync(path.join(folder, "pom.xml"), kotlinProject);
  await fetchPackages("mvn", ["-q", "-B", "dependency:resolve", "dependency:resolve-plugins"], { folder });
  await execute("mvn", ["-q", "-B", "compile"], { folder });
}

const goCalls = `package main

import (
	"context"
	"fmt"
	"os"
	"time"

	rollcall "example.com/example/rollcall"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	configuration := rollcall.NewConfiguration()
	configuration.Servers = rollcall.ServerConfigurations{{URL: os.Getenv("ROLLCALL_URL")}}
	client := rollcall.NewAPIClient(configuration)
	signed := func(token string) context.Context {
		return context.WithValue(context.Background(), rollcall.ContextAccessToken, token)
	}
	register := rollcall.NewRegisterDeviceRequest(os.Getenv("ROLLCALL_APPID"), os.Getenv("ROLLCALL_APPKEY"), "go")
	device, _, err := client.DevicesAPI.RegisterDevice(context.Background()).RegisterDeviceRequest(*register).Execute()
	check(err)
	signUp := rollcall.NewCreateUserRequest(fmt.Sprint("go-", time.Now().UnixNano()), "correct horse")
	asDevice := signed(device.Result.AccessToken)
	user, _, err := client.UsersAPI.CreateUser(asDevice).CreateUserRequest(*signUp).Execute()
	check(err)
	asUser := signed(user.Result.AccessToken)
	request := rollcall.NewCreateCheckinRequest("48.2082,16.3738")
	created, _, err := client.CheckInsAPI.CreateCheckin(asUser).CreateCheckinRequest(*request).Execute()
	check(err)
	page, _, err := client.CheckInsAPI.SearchCheckins(asUser).UserID("me").PageSize(10).Execute()
	check(err)
	if page.Result.PageResults[0].Id != created.Result.Id {
		check(fmt.Errorf("the check-in is missing"))
	}
}
`;

const goOptions = [
  "--additional-properties=packageName=rollcall,enumClassPrefix=true",
  ...["--git-host=example.com", "--git-user-id=example", "--git-repo-id=rollcall"],
];

const go: Generator = {
  name: "go",
  programs: ["java", "mvn", "go"],
  mayBeSkipped: true,
  async run(workplace) {
    const folders = await generate("go", workplace, goOptions);
    const [clients] = folders;
    mkdirSync(path.join(clients, "calls"));
    writeFileSync(path.join(clients, "calls/main.go"), goCalls);
    for (const folder of folders) {
      await fetchPackages("go", ["mod", "tidy"], { folder });
      await execute("go", ["build", "./..."], { folder });
    }
    await execute("go", ["run", "./calls"], { folder: clients, environment: workplace.server });
  },
};

/** The clients of OpenAPI Generator. */
export const openApiGenerators: readonly Generator[] = [python, java, kotlin, go];
